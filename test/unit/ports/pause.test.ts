/** Tests a wait on a clock that can be cut short. */
import { expect, test, vi } from 'vitest'
import { pause } from '../../../src/ports/pause.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'

test('a pause takes its delay and then ignores the signal', async () => {
  const clock = fakeClock()
  const { signal } = new AbortController()
  const added = vi.spyOn(signal, 'addEventListener')
  const removed = vi.spyOn(signal, 'removeEventListener')
  let over = false
  const paused = pause(clock, 1_500, signal).then(() => (over = true))
  await clock.advance(1_499)
  expect(over).toBe(false)
  await clock.advance(1)
  await paused
  expect(clock.armed()).toBe(0)
  expect(removed.mock.calls.map(([, hears]) => hears)).toEqual(added.mock.calls.map(([, hears]) => hears))
})

test('a pause ends with the signal and leaves no timer', async () => {
  const clock = fakeClock()
  const leaving = new AbortController()
  const paused = pause(clock, 1_500, leaving.signal)
  leaving.abort()
  await paused
  expect(clock.armed()).toBe(0)
})

test('a pause does not start after the signal', async () => {
  const clock = fakeClock()
  const paused = pause(clock, 1_500, AbortSignal.abort())
  await paused
  expect(clock.armed()).toBe(0)
})
