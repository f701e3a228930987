/** Where a fact of a Codex thread belongs. */
import type { Captured } from '../../activity/captured.ts'

/** In which thread, in which turn and when something happened. */
export interface Place {
  /** The subagent; undefined for the main agent. */
  agent: string | undefined
  /** Number of the request; undefined for the last one. */
  turn_seq: number | undefined
  at: string | undefined
}

/** Records a fact and returns the number of its request. */
export type RecordFact = (fact: Captured, place: Place) => number
