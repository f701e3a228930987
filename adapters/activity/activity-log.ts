/**
 * Reports what an agent does to the hub, shared by all adapters. Nothing here delays a client: events wait in a bounded
 * queue and leave in reports, one at a time and in order. What the hub does not take is spooled.
 *
 * An event gets its number when its report is formed. Lost events also get one, so the hub knows that they are missing.
 */
import { activitySender, type ActivitySenderDeps } from './activity-sender.ts'
import { withoutTexts, type Captured } from './captured.ts'
import { createSessionNumbers, type NumberStore } from './session-numbers.ts'
import { createWaitingEvents } from './waiting-events.ts'
import { ACTIVITY_DATA, type ActivitySource } from '../../src/contracts/activity/event.ts'
import type { SessionId, Timestamp } from '../../src/contracts/ids.ts'
import { timestamp, type Clock } from '../../src/ports/clock.ts'
import type { Ids } from '../../src/ports/random.ts'

/** Where and when something happened. */
export interface Occurrence {
  session_id: SessionId
  source: ActivitySource
  /** Default: now. */
  at?: Timestamp
  /** The subagent in which it happened. */
  agent_id?: string | undefined
  /** Default: the session's last turn. `request.started` begins the next one. */
  turn_seq?: number | undefined
}

export interface ActivityLog {
  /** Records a fact and returns the number of its turn. Never throws. */
  record(fact: Captured, of: Occurrence): number
  /** The adapter did not see this number of events of the session. */
  missed(session_id: SessionId, events: number): void
  /** Whether the session was reported before, also by an earlier process. */
  isKnown(session_id: SessionId): boolean
  /**
   * Spools everything that waits, without texts, and records nothing more. Synchronous, because the process ends; removing
   * secrets from texts is not.
   */
  close(): void
}

export interface ActivityLogDeps extends ActivitySenderDeps {
  ids: Pick<Ids, 'next'>
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  /** False: what people, models and tools wrote is left out. */
  with_texts: boolean
  numbers: NumberStore
}

export function createActivityLog(deps: ActivityLogDeps): ActivityLog {
  const { ids, clock, with_texts, log } = deps
  const numbers = createSessionNumbers(deps.numbers, log)
  const waiting = createWaitingEvents()
  const sender = activitySender(deps, numbers, waiting)
  let closed = false

  function add(fact: Captured, of: Occurrence): number {
    const session = numbers.of(of.session_id)
    if (fact.kind === 'request.started' && of.turn_seq === undefined) session.turn_seq += 1
    const turn_seq = of.turn_seq ?? session.turn_seq
    const at = of.at ?? timestamp(clock)
    // An invalid event would make the hub reject its whole report.
    const valid = ACTIVITY_DATA[fact.kind].safeParse(fact.data)
    if (!valid.success) {
      log.warn({ kind: fact.kind, issues: valid.error.issues }, 'invalid activity not recorded')
      waiting.missed(of.session_id, 1)
      return turn_seq
    }
    const facts = { event_id: ids.next(), agent_id: of.agent_id ?? null, turn_seq, at, source: of.source }
    waiting.push(of.session_id, { ...(with_texts ? fact : withoutTexts(fact)), ...facts })
    // The process may end soon.
    if (fact.kind === 'session.ended') sender.hurry()
    sender.schedule()
    return turn_seq
  }

  return {
    record(fact, of) {
      if (closed) return 0
      try {
        return add(fact, of)
      } catch (error) {
        log.error({ err: error, kind: fact.kind }, 'activity not recorded')
        return 0
      }
    },
    missed: (session_id, events) => waiting.missed(session_id, events),
    isKnown: (session_id) => numbers.of(session_id).is_known,
    close() {
      closed = true
      sender.close()
    },
  }
}
