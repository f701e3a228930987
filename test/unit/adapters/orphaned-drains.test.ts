/** Drains of a killed worker are released first, while the hub may be unreachable. */
import { expect, test } from 'vitest'
import { releaseOrphanedDrains } from '../../../adapters/claude-code/orphaned-drains.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { atRest, fakeClock } from '../../support/fakes/fake-clock.ts'

test('the release is retried until a hub answers, and logged once', async () => {
  const clock = fakeClock()
  const warned: string[] = []
  let hub_is_there = false
  let asked = 0
  let back = false
  const giveBack = async () => {
    asked += 1
    if (!hub_is_there) throw new Error('no hub')
  }
  const log = { ...silentLog, warn: (_: object, message: string) => warned.push(message) }
  void releaseOrphanedDrains(giveBack, { clock, log }).then(() => (back = true))
  await atRest()
  await clock.advance(60_000)
  expect(back).toBe(false)
  expect(asked).toBeGreaterThan(1)
  expect(warned).toHaveLength(1)
  hub_is_there = true
  await clock.advance(60_000)
  expect(back).toBe(true)
  expect(clock.armed()).toBe(0)
})

test('the release resolves at once if the hub answers', async () => {
  const clock = fakeClock()
  let back = false
  void releaseOrphanedDrains(async () => {}, { clock, log: silentLog }).then(() => (back = true))
  await atRest()
  expect(back).toBe(true)
})
