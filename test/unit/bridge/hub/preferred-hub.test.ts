/** Tests where a client connects when its hub is only preferred. */
import { expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { createPreferredHub } from '../../../../src/bridge/hub/preferred-hub.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'

const [PREFERRED, OWN] = ['http://preferred', 'http://own']

function setting() {
  const clock = fakeClock()
  const state: { own: string | null; answers: boolean } = { own: OWN, answers: false }
  const hub = createPreferredHub({
    url: PREFERRED,
    clock,
    ownUrl: () => state.own,
    responds: () => Promise.resolve(state.answers),
  })
  return { clock, state, hub }
}

test('the preferred hub is called while it responds', () => {
  expect(setting().hub.locate()).toBe(PREFERRED)
})

test("the home's own hub is called only while the preferred one is away", async () => {
  const { clock, state, hub } = setting()
  expect(hub.onHubMissing()).toBe(true)
  await clock.advance(LIMITS.bridge_follow_ms)
  expect(hub.locate()).toBe(OWN)
  state.answers = true
  await clock.advance(LIMITS.bridge_follow_ms)
  expect([hub.locate(), clock.armed()]).toEqual([PREFERRED, 0])
})

test('the preferred hub is tried again if the home has none', () => {
  const { state, hub } = setting()
  state.own = null
  expect([hub.onHubMissing(), hub.locate()]).toEqual([false, PREFERRED])
  state.own = OWN
  expect(hub.locate()).toBe(OWN)
})
