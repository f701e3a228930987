/** How long a worker that could not begin stays in its session. */
import { expect, test } from 'vitest'
import { endQuiet } from '../../../adapters/claude-code/quiet-end.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { fakeClock } from '../../support/fake-clock.ts'

async function endsWithin(ms: number, session: { respawned: boolean; persona: string | undefined }) {
  const clock = fakeClock()
  let ended = 0
  endQuiet(session, { clock, end: () => (ended += 1) })
  await clock.advance(ms)
  return ended > 0
}

test('one that took the place of another ends after a while, so that its keeper tries again', async () => {
  expect(await endsWithin(LIMITS.claude_quiet_ms - 1, { respawned: true, persona: 'ada' })).toBe(false)
  expect(await endsWithin(LIMITS.claude_quiet_ms, { respawned: true, persona: 'ada' })).toBe(true)
})

test.each([
  { respawned: false, persona: 'ada' },
  { respawned: true, persona: undefined },
])('the first of its session, and one that acts for nobody, stays: %j', async (session) => {
  expect(await endsWithin(3_600_000, session)).toBe(false)
})
