import { expect, test } from 'vitest'
import { threadWindow } from '../../../adapters/codex/thread-window.ts'

/** Windows are seen as they were at the last look. */
function slowlySeen() {
  const windows = { open: true, seen: true }
  const window = threadWindow((_, look) => {
    if (look === 'now') windows.seen = windows.open
    return windows.seen
  })
  window.bound('shared', 'found')
  return { windows, window, isShown: () => window.isShown('shared') }
}

test('a thread is shown that a window opens again before anybody has looked for windows', () => {
  const { windows, window, isShown } = slowlySeen()
  windows.open = windows.seen = false
  expect(isShown()).toBe(false)
  windows.open = true
  expect(isShown()).toBe(false)
  expect(window.opened('shared')).toBe(true)
  expect(isShown()).toBe(true)
})

test('a thread is not shown because another window is open, nor because the shim itself opened it', () => {
  const { windows, window, isShown } = slowlySeen()
  windows.open = windows.seen = false
  expect(isShown()).toBe(false)
  windows.open = windows.seen = true
  window.opening()
  expect(window.opened('shared')).toBe(false)
  expect(isShown()).toBe(false)
})
