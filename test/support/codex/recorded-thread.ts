/** Records what the activity of one Codex thread is, for tests. */
import { expect } from 'vitest'
import { iso, THREAD } from './messages.ts'
import { ActivityMessage } from '../../../adapters/codex/activity/messages.ts'
import { threadActivity } from '../../../adapters/codex/activity/thread-activity.ts'
import type { RecordedTurn } from '../../../adapters/codex/activity/thread-turns.ts'
import type { Captured } from '../../../adapters/activity/captured.ts'
import { ReportedEvent } from '../../../src/contracts/activity/event.ts'

/** `before` is the newest turn that another process has recorded. */
export function recordedThread(before: RecordedTurn | null = null) {
  let last = 0
  const events: (Captured & { turn_seq: number; agent_id: string | undefined; at: string | undefined })[] = []
  const turns: RecordedTurn[] = []
  const activity = threadActivity({
    ...{ identity: 'ada', thread_id: THREAD, model: 'scripted', recorded: before },
    onTurn: (newest) => void turns.push(newest),
    log: {
      record(fact, { session_id, source, at, agent_id, turn_seq }) {
        expect(session_id).toBe(THREAD)
        if (fact.kind === 'request.started') last += 1
        const event = { ...fact, turn_seq: turn_seq ?? last, agent_id, at }
        events.push(event)
        const rest = { agent_id: agent_id ?? null, source, at: at ?? iso(0), seq: 1 }
        ReportedEvent.parse({ ...event, ...rest, event_id: '01KJMHHR00AAAAAAAAAAAAAAAA' })
        return event.turn_seq
      },
    },
  })
  return {
    activity,
    events,
    turns,
    receive(...messages: object[]): void {
      for (const message of messages) activity.handle(ActivityMessage.parse(message))
    },
    kinds: () => events.map(({ kind }) => kind),
    dataOf: (kind: Captured['kind']) => events.filter((event) => event.kind === kind).map(({ data }) => data),
  }
}
