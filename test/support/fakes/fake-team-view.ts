/** A team view in which nothing waits. */
import type { TeamView } from '../../../src/contracts/team-view.ts'

export function teamView(fields: Partial<TeamView> = {}): TeamView {
  return {
    identity: 'ada',
    waiting: { count: 0, from: [] },
    in_progress: { count: 0, from: [] },
    blocks: [],
    blocked_by: [],
    team: [{ identity: 'ada', turn: 'idle', pending_count: 0 }],
    team_count: 1,
    person: { pending_count: 0, newest: [] },
    ...fields,
  }
}
