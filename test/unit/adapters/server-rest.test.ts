import { expect, test } from 'vitest'
import { serverRest } from '../../../adapters/server-rest.ts'
import { fakeClock } from '../../support/fake-clock.ts'

/** Starts it as soon as that may be, and answers how long it was left alone, in seconds. */
async function startsAgain(rest: ReturnType<typeof serverRest>, clock: ReturnType<typeof fakeClock>) {
  let waited_s = 0
  for (; !rest.isOver(); waited_s += 1) await clock.advance(1_000)
  rest.started()
  return waited_s
}

test('a server that keeps ending is started ever more slowly, down to once a minute', async () => {
  const clock = fakeClock()
  const rest = serverRest(clock)
  const waits: number[] = []
  for (let n = 0; n < 10; n += 1) waits.push(await startsAgain(rest, clock))
  expect(waits).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 60, 60])
})

test('one that somebody waits for is started at once', async () => {
  const clock = fakeClock()
  const rest = serverRest(clock)
  for (let n = 0; n < 5; n += 1) await startsAgain(rest, clock)
  expect(rest.isOver()).toBe(false)
  rest.forget()
  expect(await startsAgain(rest, clock)).toBe(0)
})

test('one that lasted begins anew', async () => {
  const clock = fakeClock()
  const rest = serverRest(clock)
  for (let n = 0; n < 5; n += 1) await startsAgain(rest, clock)
  await clock.advance(120_000)
  expect(await startsAgain(rest, clock)).toBe(0)
  expect(await startsAgain(rest, clock)).toBe(0)
  expect(await startsAgain(rest, clock)).toBe(1)
})
