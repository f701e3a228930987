/** Where a client calls whose hub is only preferred. */
import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { createPreferredHub } from '../../../src/transports/bridge/preferred-hub.ts'
import { fakeClock } from '../../support/fake-clock.ts'

const [PREFERRED, OWN] = ['http://preferred', 'http://own']

function setting() {
  const clock = fakeClock()
  const state: { own: string | null; answers: boolean } = { own: OWN, answers: false }
  const hub = createPreferredHub({
    ...{ url: PREFERRED, clock },
    own: () => state.own,
    answers: () => Promise.resolve(state.answers),
  })
  return { clock, state, hub }
}

test('the preferred hub is called as long as it is not missed', () => {
  expect(setting().hub.locate()).toBe(PREFERRED)
})

test("the home's own hub is called while the preferred one is away, and no longer", async () => {
  const { clock, state, hub } = setting()
  expect(hub.missed()).toBe(true)
  await clock.advance(LIMITS.bridge_follow_ms)
  expect(hub.locate()).toBe(OWN)
  state.answers = true
  await clock.advance(LIMITS.bridge_follow_ms)
  expect([hub.locate(), clock.armed()]).toEqual([PREFERRED, 0])
})

test('where the home has none, the preferred one is tried again', () => {
  const { state, hub } = setting()
  state.own = null
  expect([hub.missed(), hub.locate()]).toEqual([false, PREFERRED])
  state.own = OWN
  expect(hub.locate()).toBe(OWN)
})
