/** The state of each daemon as reconstructed from its frames, for the rules of doorbells. */
import type { SurfaceReport } from '../../../src/contracts/control.ts'

export interface Rung {
  doorbell_id: string
  signal_id: string
  session_id: string | null
  turn: number
  /**
   * The last turn that may be the same one. A turn that a new shim has just found counts as the turn of the doorbell.
   */
  turn_max: number
  at: number
  /** Number of clock changes before it was sent. */
  clock_sets: number
  /** Null until the surface has responded. */
  accepted: boolean | null
  /**
   * `late`: drained only by requests that probably took their signals before the doorbell was sent, so it may still be
   * needed.
   */
  drained: 'no' | 'late' | 'since'
  /** Whether a signal was pushed or released afterwards, or may have been. */
  news_since: boolean
  /** When a later turn ended, as reported by its session. */
  ended_at: number | null
  /** Number of consecutive earlier doorbells that only repeated a reminder of the same signals. */
  reminders: number
  /** Number of consecutive earlier doorbells without effect. A new signal resets the count. */
  lost_before: number
}

export interface Heard {
  up: boolean
  /** Whether the link has received the hub's list. */
  listed: boolean
  total: number
  /** All signals that any frame or list has contained. */
  known: Set<string>
  /** Whether the daemon was notified of a signal that left or returned to the queue since the link opened. */
  stirred: boolean
  /** Id of its last request to the hub; a response to an older one is ignored. */
  peek_id: string | number | null
  /** Number of events in the simulation when the last list arrived. */
  listed_at: number
  /** Signals of the last list, and whether the list was complete. */
  named: ReadonlySet<string>
  whole: boolean
  /** Signals of the last complete list, updated by later frames; null before the first one of this link. */
  waiting: Set<string> | null
  /** The last known waiting signals of earlier links and earlier daemons of the persona. */
  waited: ReadonlySet<string> | null
  /** Priority of the first signal in the last list. */
  first_priority: number
  /** Whether there was a reason to ring since the link opened: a push, a release, or an action of the agent. */
  news: boolean
  /** When the link opened, and when the surface became idle. */
  up_at: number
  idle_since: number
  /**
   * Whether a list after the last doorbell contained a signal that was known to be gone: its drain was never written.
   */
  returned: boolean
  /** Number of consecutive turns that a doorbell began and that ended without a drain. */
  unread_turns: number
  /** Shims in the order in which they attached. */
  shims: Map<number, SurfaceReport>
  pulled: SurfaceReport | null
  /** The shim that sent the last report. */
  speaker: number | null
  last: Rung | null
  /** The last doorbell of each session. */
  rung: Map<string | null, Rung>
  /** Number of doorbells that the surface accepted, including those that it rejected although some shim saw them. */
  accepted: number
  overturned: number
  /** Doorbells that a report listed as seen, and rejected doorbells that no shim has. */
  seen: Set<string>
  refused: Set<string>
  /**
   * Number of doorbells that an operator requested and that were not rejected, since the last doorbell, the operator's
   * own drain, or an empty queue.
   */
  asked_for: number
  /** Requests that wait to learn whether a doorbell follows, in order of arrival, with the state at their arrival. */
  asking: { last: Rung | null; reports: SurfaceReport[] }[]
  /** When it last received a drain notification, by its own monotonic clock. */
  drained_at: number | null
  /** A loud signal that has to be followed by a doorbell. */
  owed: { signal_id: string; at: number; pauses: number } | null
  /** Whether an operator reported a new window that has not reported yet: its first report counts as news. */
  resumed: boolean
}

export function heardNothing(): Heard {
  return {
    up: false,
    listed: false,
    total: 0,
    known: new Set(),
    stirred: false,
    peek_id: null,
    listed_at: -1,
    named: new Set(),
    whole: false,
    waiting: null,
    waited: null,
    first_priority: 0,
    news: false,
    up_at: -1,
    idle_since: -1,
    returned: false,
    unread_turns: 0,
    shims: new Map(),
    pulled: null,
    speaker: null,
    last: null,
    rung: new Map(),
    accepted: 0,
    overturned: 0,
    seen: new Set(),
    refused: new Set(),
    asked_for: 0,
    asking: [],
    drained_at: null,
    owed: null,
    resumed: false,
  }
}

export function reportsIn({ shims, pulled }: Heard): SurfaceReport[] {
  return [...shims.values(), ...(pulled === null ? [] : [pulled])]
}
