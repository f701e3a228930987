/** How long a worker that failed to start stays in its session. */
import { expect, test } from 'vitest'
import { exitAfterFailedStart } from '../../../adapters/claude-code/failed-start-exit.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'

async function endsWithin(ms: number, session: { respawned: boolean; persona: string | undefined }) {
  const clock = fakeClock()
  let ended = 0
  exitAfterFailedStart(session, { clock, exit: () => (ended += 1) })
  await clock.advance(ms)
  return ended > 0
}

test('a respawned worker exits after a while, so that its keeper starts another', async () => {
  expect(await endsWithin(LIMITS.claude_respawn_ms - 1, { respawned: true, persona: 'ada' })).toBe(false)
  expect(await endsWithin(LIMITS.claude_respawn_ms, { respawned: true, persona: 'ada' })).toBe(true)
})

test.each([
  { respawned: false, persona: 'ada' },
  { respawned: true, persona: undefined },
])('a first worker, and one without a persona, stays: %j', async (session) => {
  expect(await endsWithin(3_600_000, session)).toBe(false)
})
