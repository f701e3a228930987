import { expect, test } from 'vitest'
import { requestWindows } from '../../../src/transports/http/request-windows.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'

const WINDOW_MS = 60_000

test('a window ends by itself, also after the clock was set back', async () => {
  const clock = fakeClock()
  const Windows = requestWindows(clock)
  const windows = new Windows({})
  const asked = (address: string) => {
    let count = 0
    windows.incr(address, (_, said) => (count = said?.current ?? 0), WINDOW_MS, 9)
    return count
  }
  expect([asked('a'), asked('a'), asked('b')]).toEqual([1, 2, 1])
  clock.setBack(3 * 3_600_000)
  await clock.advance(WINDOW_MS - 1)
  expect(asked('a')).toBe(3)
  await clock.advance(1)
  expect(asked('a')).toBe(1)
})
