import { expect, test } from 'vitest'
import { threadWindow } from '../../../../adapters/codex/thread-window.ts'

/** Windows as they were at the last check. */
function slowlySeen() {
  const windows = { open: true, seen: true }
  const window = threadWindow((_, look) => {
    if (look === 'now') windows.seen = windows.open
    return windows.seen
  })
  window.bound('shared', 'found')
  return { windows, window, isShown: () => window.isShown('shared') }
}

test('a thread is shown when a window opens it, before the next check for windows', () => {
  const { windows, window, isShown } = slowlySeen()
  windows.open = windows.seen = false
  expect(isShown()).toBe(false)
  windows.open = true
  expect(isShown()).toBe(false)
  expect(window.opened('shared')).toBe(true)
  expect(isShown()).toBe(true)
})

test("a thread is not shown by another open window or by the shim's own opening", () => {
  const { windows, window, isShown } = slowlySeen()
  windows.open = windows.seen = false
  expect(isShown()).toBe(false)
  windows.open = windows.seen = true
  window.opening()
  expect(window.opened('shared')).toBe(false)
  expect(isShown()).toBe(false)
})
