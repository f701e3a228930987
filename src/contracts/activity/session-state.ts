/** The state of an agent's session, with the evidence that it rests on. */
import * as z from 'zod'
import { ActivityKind, ActivitySource, WaitingFor } from './event.ts'
import { Timestamp } from '../ids.ts'

export const SessionStateName = z.enum([
  'working',
  'waiting',
  'idle',
  'compacting',
  'failed',
  'ended',
  'unknown',
])
export type SessionStateName = z.infer<typeof SessionStateName>

export const Evidence = z.object({
  /**
   * `process`: the system reports that the process ended. `person`: a person ended the session. `clock`: no evidence since
   * `at`, or a wait ended at that time.
   */
  source: z.union([ActivitySource, z.enum(['process', 'person', 'clock'])]),
  /** The kind of the event; null for the other sources. */
  kind: ActivityKind.nullable(),
  at: Timestamp,
})
export type Evidence = z.infer<typeof Evidence>

export const SessionState = z
  .object({
    state: SessionStateName,
    /** What it does or waits for: the tool, the question, the reason of a failure. */
    what: z.string().nullable(),
    waiting_for: WaitingFor.nullable(),
    since: Timestamp,
    evidence: Evidence,
    /** What contradicts the state, for a person. */
    conflict: z.string().nullable(),
  })
  .meta({ title: 'SessionState' })
export type SessionState = z.infer<typeof SessionState>
