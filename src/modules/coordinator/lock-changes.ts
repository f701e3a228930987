/** Changes of single locks: each is stored before it takes effect in memory and before its event is published. */
import type { Lock, LockReleaseCause, LockInput } from '../../contracts/coordination.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { TypedRecords } from '../lib/typed-records.ts'
import { isOwner, type HeldLock, type LockOwner, type LockTable } from './lock-table.ts'
import { keyOf } from './resources.ts'

export interface LockEvents {
  taken(lock: Lock): void
  released(lock: Lock, cause: LockReleaseCause): void
  expired(lock: Lock): void
}

export interface LockChanges {
  /** Reads the stored locks. If two of them overlap, which no hub should have stored, the newer one counts. */
  load: () => Promise<void>
  /** Throws `limit_reached`. */
  take: (owner: LockOwner, input: LockInput, key: string) => Promise<Lock>
  extend: (held: HeldLock, input: LockInput) => Promise<Lock>
  release: (held: HeldLock, cause: LockReleaseCause) => Promise<void>
  expire: (held: HeldLock) => Promise<void>
  /** Removes the records of locks that ended more than `lock_retention_ms` ago. */
  removeOld: () => Promise<void>
}

export function createLockChanges(
  { records, events, clock, ids }: LockChangesDeps,
  table: LockTable,
): LockChanges {
  /** Times at which locks ended, by `lock_id`. */
  const ended_at = new Map<string, number>()
  let last_epoch = 0
  /** The stored lock with the highest epoch. Its record is never removed, because it shows which epochs were used. */
  let newest = { epoch: 0, lock_id: '' }

  const hold = (lock: Lock, key: string) => {
    table.hold(lock, key)
    if (lock.epoch > newest.epoch) newest = lock
  }
  const store = async (lock: Lock, key: string) => {
    await records.put(lock)
    hold(lock, key)
    return lock
  }
  const end = async (held: HeldLock, status: 'released' | 'expired'): Promise<Lock> => {
    const ended: Lock = { ...held.lock, status, ended_at: timestamp(clock) }
    await records.put(ended)
    table.drop(held)
    ended_at.set(ended.lock_id, clock.now())
    return ended
  }

  return {
    async load() {
      for (const lock of (await records.list()).toSorted((a, b) => b.epoch - a.epoch)) {
        if (lock.epoch > newest.epoch) newest = lock
        const { lock_id, scope } = lock
        const key = keyOf(lock.resource)
        const isCompatible = (newer: HeldLock) => isOwner(newer, lock) && newer.key !== key
        if (lock.status !== 'held') ended_at.set(lock_id, Date.parse(lock.ended_at ?? lock.expires_at))
        else if (table.overlapping({ key, scope }).every(isCompatible)) hold(lock, key)
        else await records.remove(lock_id)
      }
      last_epoch = newest.epoch
    },

    async take({ identity, session_id }, input, key) {
      if (table.size() >= LIMITS.locks_max) {
        throw new TurnbellError('limit_reached', {
          detail: `${LIMITS.locks_max} resources are locked, the maximum.`,
          hint: 'Unlock resources that are not needed any more.',
        })
      }
      // The epoch is used up even if the put fails, because the record may have reached the disk.
      last_epoch += 1
      const lock = newLock({ lock_id: ids.next(), epoch: last_epoch, identity, session_id }, input, clock)
      events.taken(await store(lock, key))
      return lock
    },

    extend({ lock, key }, { ttl_s = lock.ttl_s, scope = lock.scope, note }) {
      const expires_at = expiryAfter(clock, ttl_s)
      return store({ ...lock, ttl_s, expires_at, scope, ...(note === undefined ? {} : { note }) }, key)
    },

    async release(held, cause) {
      events.released(await end(held, 'released'), cause)
    },
    async expire(held) {
      events.expired(await end(held, 'expired'))
    },

    async removeOld() {
      for (const [lock_id, at] of ended_at) {
        if (lock_id === newest.lock_id || clock.now() - at < LIMITS.lock_retention_ms) continue
        ended_at.delete(lock_id)
        await records.remove(lock_id)
      }
    },
  }
}

function newLock(
  origin: Pick<Lock, 'lock_id' | 'epoch' | 'identity' | 'session_id'>,
  { resource, scope = 'exact', ttl_s = LIMITS.lock_ttl_s_default, note }: LockInput,
  clock: Clock,
): Lock {
  return {
    ...origin,
    resource,
    scope,
    ttl_s,
    status: 'held',
    taken_at: timestamp(clock),
    expires_at: expiryAfter(clock, ttl_s),
    ended_at: null,
    ...(note === undefined ? {} : { note }),
  }
}

function expiryAfter(clock: Clock, ttl_s: number): string {
  return new Date(clock.now() + ttl_s * 1000).toISOString()
}

export interface LockChangesDeps {
  records: TypedRecords<Lock>
  events: LockEvents
  clock: Clock
  ids: Ids
}
