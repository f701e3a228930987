/**
 * Locks on resources: which session may change a resource, and until when.
 *
 * A lock belongs to one session of one persona, as the token identifies them. It ends when it is unlocked, when it
 * expires, or when its session is lost; expiry is checked by the clock at each call. Changes run one at a time and are
 * stored before they are published, so a restarted hub finds the locks that were held, and no two that overlap.
 *
 * The epoch lets a holder prove that no other session held the resource in between: it grows with every new lock, and
 * stays the same when a lock is extended.
 */
import type { Lock, LockReleaseCause, LockInput, UnlockInput } from '../../contracts/coordination.ts'
import type { Identity } from '../../contracts/ids.ts'
import { createSerialQueue } from '../../ports/serial-queue.ts'
import { createLockChanges, type LockChanges, type LockChangesDeps } from './lock-changes.ts'
import { foreignLockError, resourceLockedError, staleLockError } from './lock-errors.ts'
import { createLockTable, isOwner, type HeldLock, type LockOwner, type LockTable } from './lock-table.ts'
import { keyOf } from './resources.ts'

export interface LockDeps extends LockChangesDeps {
  /** Whether this session holds a registration now. */
  isRegistered: (owner: LockOwner) => boolean
}

export interface Locks {
  /**
   * Takes the resource, or extends the lock that this owner has on it. Throws `resource_locked`, with an
   * epoch `lease_stale`, and `limit_reached`.
   */
  take(owner: LockOwner, input: LockInput): Promise<{ lock: Lock; extended: boolean }>
  /**
   * Returns false where the resource is not locked. Throws `resource_locked` for another's lock, with an epoch
   * `lease_stale`.
   */
  unlock(owner: LockOwner, input: UnlockInput): Promise<boolean>
  /** Releases every lock of the session. */
  sessionLost(owner: LockOwner): Promise<void>
  /** Releases every lock of a persona that was wrapped or removed. */
  personaEnded(identity: Identity): Promise<void>
  /** A sign of life of the session, which keeps its locks from being taken over. */
  seen(owner: LockOwner): void
  /** Locks held now, oldest first. */
  held(): Lock[]
  /** Ends expired locks, and removes the records of those that ended long ago. */
  sweep(): Promise<void>
}

export async function openLocks(deps: LockDeps): Promise<Locks> {
  const table = createLockTable(deps)
  const changes = createLockChanges(deps, table)
  const enqueue = createSerialQueue()
  await changes.load()

  const releaseAll = (isMeant: (held: HeldLock) => boolean, cause: LockReleaseCause) =>
    enqueue(() => forEach(table.all().filter(isMeant), (held) => changes.release(held, cause)))

  return {
    take: (owner, input) => enqueue(() => take(table, changes, owner, input)),

    unlock: (owner, { resource, epoch, force }) =>
      enqueue(async () => {
        const key = keyOf(resource)
        await forEach(table.overlapping({ key, scope: 'exact' }).filter(table.isExpired), changes.expire)
        const held = table.get(key)
        if (epoch !== undefined && held?.lock.epoch !== epoch)
          throw staleLockError(resource, epoch, held?.lock)
        if (held === undefined) return false
        const own = isOwner(held, owner)
        if (!own && !force) throw foreignLockError(resource, held.lock)
        await changes.release(held, own ? 'asked' : 'forced')
        return true
      }),

    sessionLost: (owner) => releaseAll((held) => isOwner(held, owner), 'session_lost'),
    personaEnded: (identity) => releaseAll(({ lock }) => lock.identity === identity, 'persona_ended'),
    seen: table.seen,

    held: () =>
      table
        .all()
        .filter((held) => !table.isExpired(held))
        .map(({ lock }) => lock)
        .sort((a, b) => a.epoch - b.epoch),

    async sweep() {
      await enqueue(() => forEach(table.all().filter(table.isExpired), changes.expire))
      await changes.removeOld()
    },
  }
}

async function take(
  table: LockTable,
  changes: LockChanges,
  owner: LockOwner,
  input: LockInput,
): Promise<{ lock: Lock; extended: boolean }> {
  const { resource, epoch, steal_own } = input
  const key = keyOf(resource)
  await forEach(table.overlapping({ key, scope: 'tree' }).filter(table.isExpired), changes.expire)
  const existing = table.get(key)
  const own = existing !== undefined && isOwner(existing, owner) ? existing : undefined
  if (epoch !== undefined && own?.lock.epoch !== epoch) throw staleLockError(resource, epoch, existing?.lock)

  const scope = input.scope ?? own?.lock.scope ?? 'exact'
  const others = table.overlapping({ key, scope }).filter((held) => !isOwner(held, owner))
  const mayTakeOver = (held: HeldLock) =>
    steal_own && held.lock.identity === owner.identity && table.isAbandoned(held)
  const conflict = others.find((held) => !mayTakeOver(held))
  if (conflict !== undefined) throw resourceLockedError(owner, resource, conflict.lock)
  await forEach(others, (held) => changes.release(held, 'stolen'))
  if (own !== undefined) return { lock: await changes.extend(own, input), extended: true }
  return { lock: await changes.take(owner, input, key), extended: false }
}

async function forEach(locks: readonly HeldLock[], change: (held: HeldLock) => Promise<void>): Promise<void> {
  for (const held of locks) await change(held)
}
