/**
 * Leases on resources: who may touch what, until when.
 *
 * A lease belongs to one session of one persona, as their token says. It ends when it is given back, when
 * its time is over, or when its session is lost; whether its time is over is judged by the clock when
 * somebody asks. Changes happen one after the other and are kept before anybody hears of them, so a hub
 * that starts again finds the leases that were held, and no two that overlap.
 *
 * The epoch is what a holder shows to prove that nobody held the resource in between: it grows with every
 * lease that is taken, and never when one is extended.
 */
import type { Lease, LeaseReleaseCause, LockInput, UnlockInput } from '../../contracts/coordination.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Shelf } from '../shelf.ts'
import { createTurns } from '../turns.ts'
import { leaseStale, notYours, resourceLocked } from './lease-refusals.ts'
import { keyOf, overlapping, type Covered } from './resources.ts'

export interface LeaseOwner {
  identity: Identity
  session_id: SessionId
}

export interface LeaseEvents {
  taken(lease: Lease): void
  released(lease: Lease, cause: LeaseReleaseCause): void
  expired(lease: Lease): void
}

export interface LeaseNeeds {
  shelf: Shelf<Lease>
  events: LeaseEvents
  /** Whether this session holds a registration now. */
  isRegistered(owner: LeaseOwner): boolean
  clock: Clock
  ids: Ids
}

export interface Leases {
  /**
   * Takes the resource, or extends the lease that this owner has on it. Throws `resource_locked`, with an
   * epoch `lease_stale`, and `limit_reached`.
   */
  take(owner: LeaseOwner, input: LockInput): Promise<{ lease: Lease; extended: boolean }>
  /** False where nobody holds it. Throws `resource_locked` for another's, with an epoch `lease_stale`. */
  giveBack(owner: LeaseOwner, input: UnlockInput): Promise<boolean>
  /** Everything the session holds is free. */
  sessionLost(owner: LeaseOwner): Promise<void>
  /** The same for all sessions of a persona that is not meant to act any more. */
  personaEnded(identity: Identity): Promise<void>
  /** A sign of life of the session: nobody takes over what it holds. */
  seen(owner: LeaseOwner): void
  /** What is held at this moment, oldest first. */
  held(): Lease[]
  /** Ends what is over, and forgets what ended long ago. */
  sweep(): Promise<void>
}

interface Held extends Covered {
  lease: Lease
}

/** A session that holds something. */
interface Holder {
  leases: number
  heard_at: number
}

/** Reads what is kept. Of leases that overlap, which no former run should have left, the newer one counts. */
export async function openLeases(needs: LeaseNeeds): Promise<Leases> {
  const { shelf, events, clock, ids } = needs
  const inTurn = createTurns()
  const byKey = new Map<string, Held>()
  const holders = new Map<string, Holder>()
  /** Leases that ended, and when. */
  const ended = new Map<string, number>()
  let last_epoch = 0
  /** The highest that stands in a record, which must therefore stay. */
  let kept = { epoch: 0, lease_id: '' }

  const isOver = ({ lease }: Held) => Date.parse(lease.expires_at) <= clock.now()
  const isOwner = ({ lease }: Held, owner: LeaseOwner) => nameOf(lease) === nameOf(owner)
  const isGone = ({ lease }: Held) =>
    !needs.isRegistered(lease) &&
    clock.monotonic() - (holders.get(nameOf(lease))?.heard_at ?? 0) > LIMITS.registration_expire_ms

  const hold = (lease: Lease, key: string) => {
    const leases = holders.get(nameOf(lease))?.leases ?? 0
    holders.set(nameOf(lease), { leases: leases + (byKey.has(key) ? 0 : 1), heard_at: clock.monotonic() })
    byKey.set(key, { lease, key, scope: lease.scope })
    if (lease.epoch > kept.epoch) kept = lease
  }
  const keep = async (lease: Lease, key: string) => {
    await shelf.put(lease)
    hold(lease, key)
  }

  const end = async ({ lease, key }: Held, status: 'released' | 'expired'): Promise<Lease> => {
    const over: Lease = { ...lease, status, ended_at: timestamp(clock) }
    await shelf.put(over)
    byKey.delete(key)
    ended.set(lease.lease_id, clock.now())
    const holder = holders.get(nameOf(lease))
    if (holder !== undefined && (holder.leases -= 1) === 0) holders.delete(nameOf(lease))
    return over
  }
  const release = async (held: Held, cause: LeaseReleaseCause) =>
    events.released(await end(held, 'released'), cause)
  const expire = async (held: Held) => events.expired(await end(held, 'expired'))
  const endEach = async (these: readonly Held[], how: (held: Held) => Promise<void>) => {
    for (const held of these) await how(held)
  }
  const endAllOf = (whose: (lease: Lease) => boolean, cause: LeaseReleaseCause) =>
    inTurn(() =>
      endEach(
        [...byKey.values()].filter(({ lease }) => whose(lease)),
        (held) => release(held, cause),
      ),
    )

  const until = (ttl_s: number) => new Date(clock.now() + ttl_s * 1000).toISOString()

  const extend = async ({ lease, key }: Held, { ttl_s = lease.ttl_s, scope, note }: LockInput) => {
    const longer: Lease = {
      ...lease,
      ttl_s,
      expires_at: until(ttl_s),
      scope: scope ?? lease.scope,
      ...(note === undefined ? {} : { note }),
    }
    await keep(longer, key)
    return longer
  }

  const takeNew = async (owner: LeaseOwner, input: LockInput, key: string) => {
    if (byKey.size >= LIMITS.locks_max) {
      throw new TurnbellError('limit_reached', {
        detail: `${LIMITS.locks_max} resources are locked, which is the most there may be.`,
        hint: 'Unlock what is not needed any more.',
      })
    }
    const { resource, scope = 'exact', ttl_s = LIMITS.lock_ttl_s_default, note } = input
    const lease: Lease = {
      lease_id: ids.next(),
      ...{ resource, scope, ttl_s },
      identity: owner.identity,
      session_id: owner.session_id,
      // Used up even if the record is not kept: it may have reached the disk all the same.
      epoch: (last_epoch += 1),
      status: 'held',
      taken_at: timestamp(clock),
      expires_at: until(ttl_s),
      ended_at: null,
      ...(note === undefined ? {} : { note }),
    }
    await keep(lease, key)
    events.taken(lease)
    return lease
  }

  for (const lease of (await shelf.list()).sort((a, b) => b.epoch - a.epoch)) {
    if (lease.epoch > kept.epoch) kept = lease
    const key = keyOf(lease.resource)
    if (lease.status !== 'held') ended.set(lease.lease_id, Date.parse(lease.ended_at ?? lease.expires_at))
    else if (
      overlapping(byKey, { key, scope: lease.scope }).every(
        (newer) => isOwner(newer, lease) && newer.key !== key,
      )
    )
      hold(lease, key)
    else await shelf.remove(lease.lease_id)
  }

  last_epoch = kept.epoch

  return {
    take: (owner, input) =>
      inTurn(async () => {
        const { resource, epoch, steal_own } = input
        const key = keyOf(resource)
        await endEach(overlapping(byKey, { key, scope: 'tree' }).filter(isOver), expire)
        const there = byKey.get(key)
        const own = there !== undefined && isOwner(there, owner) ? there : undefined
        if (epoch !== undefined && own?.lease.epoch !== epoch) throw leaseStale(resource, epoch, there?.lease)

        const scope = input.scope ?? own?.lease.scope ?? 'exact'
        const others = overlapping(byKey, { key, scope }).filter((held) => !isOwner(held, owner))
        const isLeft = (held: Held) => held.lease.identity === owner.identity && isGone(held)
        const standing = others.find((held) => !(steal_own && isLeft(held)))
        if (standing !== undefined) throw resourceLocked(owner, resource, standing.lease)
        await endEach(others, (held) => release(held, 'stolen'))
        if (own !== undefined) return { lease: await extend(own, input), extended: true }
        return { lease: await takeNew(owner, input, key), extended: false }
      }),

    giveBack: (owner, { resource, epoch, force }) =>
      inTurn(async () => {
        const key = keyOf(resource)
        await endEach(overlapping(byKey, { key, scope: 'exact' }).filter(isOver), expire)
        const held = byKey.get(key)
        if (epoch !== undefined && held?.lease.epoch !== epoch) throw leaseStale(resource, epoch, held?.lease)
        if (held === undefined) return false
        const own = isOwner(held, owner)
        if (!own && !force) throw notYours(resource, held.lease)
        await release(held, own ? 'asked' : 'forced')
        return true
      }),

    sessionLost: (owner) => endAllOf((lease) => nameOf(lease) === nameOf(owner), 'session_lost'),
    personaEnded: (identity) => endAllOf((lease) => lease.identity === identity, 'persona_ended'),

    seen(owner) {
      const holder = holders.get(nameOf(owner))
      if (holder !== undefined) holder.heard_at = clock.monotonic()
    },

    held: () =>
      [...byKey.values()]
        .filter((held) => !isOver(held))
        .map(({ lease }) => lease)
        .sort((a, b) => a.epoch - b.epoch),

    async sweep() {
      await inTurn(() => endEach([...byKey.values()].filter(isOver), expire))
      for (const [lease_id, at] of ended) {
        // The newest record stays: it says which epochs were given out.
        if (lease_id === kept.lease_id || clock.now() - at < LIMITS.lease_retention_ms) continue
        ended.delete(lease_id)
        await shelf.remove(lease_id)
      }
    },
  }
}

/** One word for a session of a persona; no identity has a space. */
function nameOf({ identity, session_id }: LeaseOwner): string {
  return `${identity} ${session_id}`
}
