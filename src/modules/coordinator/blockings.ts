/** Blockings: a persona declares that another one has to wait for it, and ends that itself. */
import type { Blocking } from '../../contracts/coordination.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { TypedRecords } from '../lib/typed-records.ts'
import { createSerialQueue } from '../../ports/serial-queue.ts'
import { UncertainWrites } from '../lib/uncertain-writes.ts'

export interface BlockingEvents {
  blocked(blocking: Blocking): void
  unblocked(blocking: Blocking): void
}

export interface Blockings {
  /** Blocking the same persona again only changes the reason. Throws `limit_reached`. */
  block(blocker: Identity, blocked: Identity, reason: string): Promise<Blocking>
  /** Returns the blockings that ended. Without a blocker, those by every persona. */
  unblock(blocked: Identity, blocker: Identity | null): Promise<Blocking[]>
  /** Ends the blockings by and of a persona that was wrapped or removed. */
  personaEnded(identity: Identity): Promise<void>
  /** Oldest first. */
  list(): Blocking[]
}

export async function openBlockings({
  records,
  events,
  clock,
  ids,
}: {
  records: TypedRecords<Blocking>
  events: BlockingEvents
  clock: Clock
  ids: Ids
}): Promise<Blockings> {
  const enqueue = createSerialQueue()
  const active = new Map<string, Blocking>()
  const uncertain = new UncertainWrites<Blocking>()
  for (const blocking of await records.list()) active.set(keyOf(blocking), blocking)

  const all = () => new Map([...uncertain, ...active])
  const endAll = async (isMeant: (blocking: Blocking) => boolean): Promise<Blocking[]> => {
    const ended: Blocking[] = []
    for (const [key, blocking] of all()) {
      if (!isMeant(blocking)) continue
      await uncertain.settle(key, blocking, () => records.remove(blocking.blocking_id))
      if (!active.delete(key)) continue
      events.unblocked(blocking)
      ended.push(blocking)
    }
    return ended
  }

  return {
    block: (blocker, blocked, reason) =>
      enqueue(async () => {
        const key = keyOf({ blocker, blocked })
        const current = active.get(key)
        if (current?.reason === reason && !uncertain.has(key)) return current
        const before = current ?? uncertain.get(key)
        if (before === undefined && all().size >= LIMITS.blockings_max) {
          throw new TurnbellError('limit_reached', {
            detail: `${LIMITS.blockings_max} blockings are active, the maximum.`,
            hint: 'Unblock a persona that can continue.',
          })
        }
        const blocking: Blocking = {
          blocking_id: before?.blocking_id ?? ids.next(),
          blocker,
          blocked,
          reason,
          since: before?.since ?? timestamp(clock),
        }
        await uncertain.settle(key, blocking, () => records.put(blocking))
        active.set(key, blocking)
        if (current?.reason !== reason) events.blocked(blocking)
        return blocking
      }),
    unblock: (blocked, blocker) =>
      enqueue(() =>
        endAll((one) => one.blocked === blocked && (blocker === null || one.blocker === blocker)),
      ),
    personaEnded: (identity) =>
      enqueue(async () => {
        await endAll((one) => one.blocked === identity || one.blocker === identity)
      }),
    list: () => [...active.values()],
  }
}

function keyOf({ blocker, blocked }: Pick<Blocking, 'blocker' | 'blocked'>): string {
  return `${blocker} ${blocked}`
}
