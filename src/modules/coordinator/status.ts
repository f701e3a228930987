/** Who is there, what they hold, and who waits for whom: one look at it all. */
import type {
  AgentView,
  Blocking,
  BlockingView,
  CoordinatorStatus,
  Lease,
  Lock,
  StatusInput,
} from '../../contracts/coordination.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Registration } from '../../contracts/registry.ts'
import { withinBytes } from '../within-bytes.ts'

export interface Situation {
  rows: readonly Registration[]
  leases: readonly Lease[]
  blockings: readonly Blocking[]
}

/** Of agents those heard of last come first. */
export function statusOf(
  { rows, leases, blockings }: Situation,
  { identity, limit }: StatusInput,
  as_of: string,
): CoordinatorStatus {
  const about = (...identities: string[]) => identity === undefined || identities.includes(identity)
  const agents = rows
    .filter((row) => about(row.identity))
    .sort((a, b) => compare(b.last_heartbeat_at, a.last_heartbeat_at) || compare(a.identity, b.identity))
  const locks = leases.filter((lease) => about(lease.identity))
  const standing = blockings.filter(({ blocker, blocked }) => about(blocker, blocked))
  const short = <T>(list: T[]) => withinBytes(list, LIMITS.status_list_bytes_max)
  return {
    agents: short(agents.slice(0, limit).map((row) => agentView(row, leases, blockings))),
    locks: short(locks.slice(0, limit).map(lockOf)),
    blockings: short(standing.slice(0, limit).map(blockingView)),
    totals: { agents: agents.length, locks: locks.length, blockings: standing.length },
    as_of,
  }
}

export function agentView(
  { identity, surface, session_id, kind, last_heartbeat_at, notes = {} }: Registration,
  leases: readonly Lease[],
  blockings: readonly Blocking[],
): AgentView {
  const holds = (lease: Lease) => lease.identity === identity && lease.session_id === session_id
  return {
    ...notes,
    ...{ identity, surface, session_id, kind, last_heartbeat_at },
    note: notes.note ?? null,
    locks: leases
      .filter(holds)
      .slice(0, LIMITS.agent_locks_shown_max)
      .map(({ resource }) => resource),
    blocked_by: blockings.filter(({ blocked }) => blocked === identity).map(({ blocker }) => blocker),
  }
}

export function lockOf({ lease_id: _, status: _status, ended_at: _ended, ...lock }: Lease): Lock {
  return lock
}

export function blockingView({ blocking_id: _, ...view }: Blocking): BlockingView {
  return view
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
