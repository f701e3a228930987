/** Overview of registered agents, the locks they hold, and the blockings between them. */
import type {
  AgentView,
  Blocking,
  BlockingView,
  CoordinatorStatus,
  Lock,
  LockView,
  StatusInput,
} from '../../contracts/coordination.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Registration } from '../../contracts/registry.ts'
import { truncateToBytes } from '../lib/truncate-to-bytes.ts'

export interface Situation {
  rows: readonly Registration[]
  locks: readonly Lock[]
  blockings: readonly Blocking[]
}

/** Lists the agents with the latest heartbeat first. */
export function createStatus(
  { rows, locks, blockings }: Situation,
  { identity, limit }: StatusInput,
  as_of: string,
): CoordinatorStatus {
  const isMeant = (...identities: string[]) => identity === undefined || identities.includes(identity)
  const agents = rows
    .filter((row) => isMeant(row.identity))
    .sort((a, b) => compare(b.last_heartbeat_at, a.last_heartbeat_at) || compare(a.identity, b.identity))
  const matching = locks.filter((lock) => isMeant(lock.identity))
  const active = blockings.filter(({ blocker, blocked }) => isMeant(blocker, blocked))
  const truncate = <T>(list: T[]) => truncateToBytes(list, LIMITS.status_list_bytes_max)
  return {
    agents: truncate(agents.slice(0, limit).map((row) => agentView(row, locks, blockings))),
    locks: truncate(matching.slice(0, limit).map(lockView)),
    blockings: truncate(active.slice(0, limit).map(blockingView)),
    totals: { agents: agents.length, locks: matching.length, blockings: active.length },
    as_of,
  }
}

export function agentView(
  { identity, surface, session_id, kind, last_heartbeat_at, notes = {} }: Registration,
  locks: readonly Lock[],
  blockings: readonly Blocking[],
): AgentView {
  const isHeld = (lock: Lock) => lock.identity === identity && lock.session_id === session_id
  return {
    ...notes,
    identity,
    surface,
    session_id,
    kind,
    last_heartbeat_at,
    note: notes.note ?? null,
    locks: locks
      .filter(isHeld)
      .slice(0, LIMITS.agent_locks_shown_max)
      .map(({ resource }) => resource),
    blocked_by: blockings.filter(({ blocked }) => blocked === identity).map(({ blocker }) => blocker),
  }
}

export function lockView({ lock_id: _, status: _status, ended_at: _ended, ...view }: Lock): LockView {
  return view
}

export function blockingView({ blocking_id: _, ...view }: Blocking): BlockingView {
  return view
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
