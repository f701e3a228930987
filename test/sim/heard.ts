/** What each daemon heard and did, as far as the rules of doorbells ask for it. */
import type { SurfaceReport } from '../../src/contracts/control.ts'

export interface Rung {
  doorbell_id: string
  signal_id: string
  session_id: string | null
  turn: number
  /** The last turn of which nobody can say that it was another: one that a shim only just found is as good as the bell's. */
  turn_max: number
  at: number
  /** How often a clock had been set when it left. */
  clock_sets: number
  /** Null until the surface has answered. */
  accepted: boolean | null
  /** `late`: only by drains that had taken what they took before it left, it seems. They may not have been for it. */
  drained: 'no' | 'late' | 'since'
  /** Something was pushed or given back since, or may have been. */
  news_since: boolean
  /** When a turn after it was over, as its session told. */
  ended_at: number | null
  /** How many before it, in a row, only reminded of the same signals. */
  reminders: number
  /** How many before it, in a row, led to nothing, while nothing else came that begins the row anew. */
  lost_before: number
}

export interface Heard {
  up: boolean
  /** The link has brought the hub's list. */
  listed: boolean
  total: number
  /** Whatever a frame or a list has ever named. */
  known: Set<string>
  /** Something left the queue or came back since the link is up, and the daemon was told. */
  stirred: boolean
  /** Of what it last asked the hub: an answer to an older question is not heard. */
  peek_id: string | number | null
  /** What had happened in the world when the last list came. */
  listed_at: number
  /** What the last list named, and whether that was all. */
  named: ReadonlySet<string>
  whole: boolean
  /** What the last whole list named, and came and went since; null before there was one over this link. */
  waiting: Set<string> | null
  /** The last that is known of it from earlier links, and from earlier daemons of the persona. */
  waited: ReadonlySet<string> | null
  /** The priority of what comes first in the last list. */
  first_priority: number
  /** Since the link is up there was a reason to ring: a push, something given back, or the agent did something. */
  news: boolean
  /** Since when the link is up, and since when the surface has been idle. */
  up_at: number
  idle_since: number
  /** Since the last bell a list named what was known and gone: what took it was never written. */
  returned: boolean
  /** Turns in a row that began with a bell and ended without a drain. */
  unread_turns: number
  /** In the order in which they attached. */
  shims: Map<number, SurfaceReport>
  pulled: SurfaceReport | null
  /** Who has reported last. */
  speaker: number | null
  last: Rung | null
  /** The last one of each session. */
  rung: Map<string | null, Rung>
  /** Bells that the surface has; and those that it said it has not, though a shim, perhaps not the one heard, saw them. */
  accepted: number
  overturned: number
  /** Bells that a report has called seen, and those that were not taken and that none has. */
  seen: Set<string>
  refused: Set<string>
  /** How often a person asked for a bell and was not refused one: since the last, its own drain, or nothing waited. */
  asked_for: number
  /** Who waits to be told whether a bell comes, first come first; and what there was by then. */
  asking: { last: Rung | null; reports: SurfaceReport[] }[]
  /** When it last heard of a drain, by its own monotonic clock. */
  drained_at: number | null
  /** Something loud came, and nothing stands against a bell: one has to follow. */
  owed: { signal_id: string; at: number; pauses: number } | null
  /** A person said that the window is a new one, and it has said nothing since: its first word is news. */
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
