/**
 * What a client shows of the team next to its own session: names, counts, and the ids of signals to the person, never a
 * signal's content.
 */
import * as z from 'zod'
import { Identity, SignalId } from './ids.ts'
import { LIMITS } from './limits/limits.ts'

const Names = z.array(Identity).max(LIMITS.team_names_max)

/** `offline`: no agent is connected. `unknown`: the agent does not report its turns. */
export const TeamTurn = z.enum(['busy', 'idle', 'unknown', 'offline'])

export const TeamMember = z
  .object({ identity: Identity, turn: TeamTurn, pending_count: z.number().int() })
  .meta({ title: 'TeamMember' })
export type TeamMember = z.infer<typeof TeamMember>

/** Signals by number and sender, each sender once. `from` is truncated. */
const CountedSignals = z.object({ count: z.number().int(), from: Names })

export const TeamView = z
  .object({
    identity: Identity,
    /** Pending signals that a drain of the caller's session would return. */
    waiting: CountedSignals,
    /** Signals that the caller's persona drained in turns that ended, and did not complete. */
    in_progress: CountedSignals,
    /** Personas that wait for the caller. */
    blocks: Names,
    /** Personas that the caller waits for. */
    blocked_by: Names,
    /** Active personas: the caller, those with a connected agent, those of the caller's project, the others. Truncated; `team_count` is their number. */
    team: z.array(TeamMember).max(LIMITS.team_shown_max),
    team_count: z.number().int(),
    /** Pending signals to the person, the newest first; `newest` is truncated. */
    person: z.object({
      pending_count: z.number().int(),
      newest: z.array(z.object({ signal_id: SignalId, from: Identity })).max(LIMITS.team_names_max),
    }),
  })
  .meta({ title: 'TeamView' })
export type TeamView = z.infer<typeof TeamView>
