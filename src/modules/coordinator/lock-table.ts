/** Held locks in memory, by resource, and the sessions that hold them. */
import type { Lock } from '../../contracts/coordination.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { overlapping, type Covered } from './resources.ts'

export interface LockOwner {
  identity: Identity
  session_id: SessionId
}

export interface HeldLock extends Covered {
  lock: Lock
}

export interface LockTable {
  get: (key: string) => HeldLock | undefined
  all: () => HeldLock[]
  size: () => number
  overlapping: (covered: Covered) => HeldLock[]
  hold: (lock: Lock, key: string) => void
  drop: (held: HeldLock) => void
  /** Records a sign of life of a session that holds locks. */
  seen: (owner: LockOwner) => void
  isExpired: (held: HeldLock) => boolean
  /** Whether the session is not registered and was silent for `registration_expire_ms`. */
  isAbandoned: (held: HeldLock) => boolean
}

/** A session that holds locks. */
interface Holder {
  lock_count: number
  seen_at: number
}

export function createLockTable({
  clock,
  isRegistered,
}: {
  clock: Clock
  isRegistered: (owner: LockOwner) => boolean
}): LockTable {
  const by_key = new Map<string, HeldLock>()
  const holders = new Map<string, Holder>()

  return {
    get: (key) => by_key.get(key),
    all: () => [...by_key.values()],
    size: () => by_key.size,
    overlapping: (covered) => overlapping(by_key, covered),
    hold(lock, key) {
      const name = ownerKey(lock)
      const lock_count = (holders.get(name)?.lock_count ?? 0) + (by_key.has(key) ? 0 : 1)
      holders.set(name, { lock_count, seen_at: clock.monotonic() })
      by_key.set(key, { lock, key, scope: lock.scope })
    },
    drop({ lock, key }) {
      by_key.delete(key)
      const name = ownerKey(lock)
      const holder = holders.get(name)
      if (holder !== undefined && (holder.lock_count -= 1) === 0) holders.delete(name)
    },
    seen(owner) {
      const holder = holders.get(ownerKey(owner))
      if (holder !== undefined) holder.seen_at = clock.monotonic()
    },
    isExpired: ({ lock }) => Date.parse(lock.expires_at) <= clock.now(),
    isAbandoned: ({ lock }) =>
      !isRegistered(lock) &&
      clock.monotonic() - (holders.get(ownerKey(lock))?.seen_at ?? 0) > LIMITS.registration_expire_ms,
  }
}

export function isOwner({ lock }: HeldLock, owner: LockOwner): boolean {
  return ownerKey(lock) === ownerKey(owner)
}

/** Key of a session; identities contain no space. */
function ownerKey({ identity, session_id }: LockOwner): string {
  return `${identity} ${session_id}`
}
