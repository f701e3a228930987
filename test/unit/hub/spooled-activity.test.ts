/** Tests how the hub consumes spooled reports of activity. */
import { expect, test } from 'vitest'
import type { ActivityReport } from '../../../src/contracts/activity/event.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { createSpoolConsumer, type SpooledActivityIntake } from '../../../src/hub/spool-consumer.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { LineOutcome } from '../../../src/ports/spool.ts'
import { memoryWorld } from '../../support/worlds/memory-world.ts'

const AT = '2026-03-01T11:00:00.000Z'
const ID = '01KJMHHR00AAAAAAAAAAAAAAAA'

function line(session_id: string, seq: number): object {
  const event = {
    ...{ event_id: ID, agent_id: null, turn_seq: 0, seq, at: AT, source: 'mod' },
    ...{ kind: 'session.ended', data: { reason: 'clear' } },
  }
  const report = { session_id, client: 'claude-code', events: [event] }
  return { id: ID, at: AT, type: 'activity', identity: 'ada', report }
}

async function consumed(
  lines: readonly object[],
  activity?: Pick<SpooledActivityIntake, 'reportSpooled'>,
): Promise<LineOutcome[]> {
  const world = await memoryWorld()
  const outcomes: LineOutcome[] = []
  const spool = {
    async consume(take: (lines: readonly string[]) => Promise<readonly LineOutcome[]>) {
      outcomes.push(...(await take(lines.map((one) => JSON.stringify(one)))))
      return { taken: 0, refused: 0 }
    },
    close: async () => undefined,
  }
  const { blackboard } = world
  const intake = activity === undefined ? undefined : { reportHook: async () => undefined, ...activity }
  await createSpoolConsumer({
    spool,
    blackboard,
    activity: intake,
    events: world.needs.events,
    log: silentLog,
  })()
  return outcomes
}

test('spooled activity is reported in order for each session, as its persona', async () => {
  const reported: [string, string, number | undefined][] = []
  const reportSpooled = async (identity: string, { session_id, events }: ActivityReport) =>
    void reported.push([identity, session_id, events[0]?.seq])
  const lines = [line('s1', 1), line('s2', 1), line('s1', 2)]
  expect(await consumed(lines, { reportSpooled })).toEqual(['taken', 'taken', 'taken'])
  expect(reported.filter(([, session_id]) => session_id === 's1')).toEqual([
    ['ada', 's1', 1],
    ['ada', 's1', 2],
  ])
})

test('spooled activity waits while it cannot be stored, and later lines of its session wait too', async () => {
  const reportSpooled = async (_: string, { session_id }: ActivityReport) => {
    if (session_id === 's1') throw new TurnbellError('store_unavailable', { detail: 'the disk is full' })
  }
  const later = { later: 'the disk is full' }
  const lines = [line('s1', 1), line('s2', 1), line('s1', 2)]
  expect(await consumed(lines, { reportSpooled })).toEqual([later, 'taken', later])
  expect(await consumed([line('s1', 1)])).toEqual([{ later: expect.any(String) as string }])
})

test('spooled activity that the hub refuses is rejected with the reason, and a bug is retried', async () => {
  const refuse = async () => {
    throw new TurnbellError('identity_mismatch', { detail: 'the session belongs to bob' })
  }
  expect(await consumed([line('s1', 1)], { reportSpooled: refuse })).toEqual([
    { refused: 'the session belongs to bob' },
  ])
  const fail = async () => {
    throw new RangeError('out of it')
  }
  expect(await consumed([line('s1', 1)], { reportSpooled: fail })).toEqual([
    { broke: 'RangeError: out of it' },
  ])
  expect(await consumed([line('', 1)])).toEqual([{ refused: expect.stringMatching(/session_id/) as string }])
})
