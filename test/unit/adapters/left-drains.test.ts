/** What an earlier worker of the session left goes back first, however long its hub is away. */
import { expect, test } from 'vitest'
import { leftDrainsAreBack } from '../../../adapters/claude-code/left-drains.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { atRest, fakeClock } from '../../support/fake-clock.ts'

test('it is asked for again until a hub answers, and told of once', async () => {
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
  void leftDrainsAreBack(giveBack, { clock, log }).then(() => (back = true))
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

test('nothing is waited for where the hub answers at once', async () => {
  const clock = fakeClock()
  let back = false
  void leftDrainsAreBack(async () => {}, { clock, log: silentLog }).then(() => (back = true))
  await atRest()
  expect(back).toBe(true)
})
