import { expect, test } from 'vitest'
import { restartBackoff } from '../../../adapters/restart-backoff.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'

/** Starts the server as soon as possible and returns the delay in seconds. */
async function startsAgain(backoff: ReturnType<typeof restartBackoff>, clock: ReturnType<typeof fakeClock>) {
  let waited_s = 0
  for (; !backoff.isReady(); waited_s += 1) await clock.advance(1_000)
  backoff.started()
  return waited_s
}

test('a server that keeps exiting is started with increasing delays up to one minute', async () => {
  const clock = fakeClock()
  const backoff = restartBackoff(clock)
  const waits: number[] = []
  for (let n = 0; n < 10; n += 1) waits.push(await startsAgain(backoff, clock))
  expect(waits).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 60, 60])
})

test('a server is started at once after a reset', async () => {
  const clock = fakeClock()
  const backoff = restartBackoff(clock)
  for (let n = 0; n < 5; n += 1) await startsAgain(backoff, clock)
  expect(backoff.isReady()).toBe(false)
  backoff.reset()
  expect(await startsAgain(backoff, clock)).toBe(0)
})

test('the delays start again after a stable run', async () => {
  const clock = fakeClock()
  const backoff = restartBackoff(clock)
  for (let n = 0; n < 5; n += 1) await startsAgain(backoff, clock)
  await clock.advance(120_000)
  expect(await startsAgain(backoff, clock)).toBe(0)
  expect(await startsAgain(backoff, clock)).toBe(0)
  expect(await startsAgain(backoff, clock)).toBe(1)
})
