/** Who says to be in whose way. A persona tells it of itself, and takes it back itself. */
import type { Blocking } from '../../contracts/coordination.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Shelf } from '../shelf.ts'
import { createTurns } from '../turns.ts'
import { Unsure } from '../unsure.ts'

export interface BlockingEvents {
  blocked(blocking: Blocking): void
  unblocked(blocking: Blocking): void
}

export interface Blockings {
  /** Blocking the same persona again only changes the reason. Throws `limit_reached`. */
  block(blocker: Identity, blocked: Identity, reason: string): Promise<Blocking>
  /** Those that end by it; none where it blocked nobody. Without a blocker, whoever blocks this persona. */
  unblock(blocked: Identity, blocker: Identity | null): Promise<Blocking[]>
  /** A persona that does not act any more blocks nobody, and nobody blocks it. */
  personaEnded(identity: Identity): Promise<void>
  /** Oldest first. */
  list(): Blocking[]
}

export async function openBlockings(needs: {
  shelf: Shelf<Blocking>
  events: BlockingEvents
  clock: Clock
  ids: Ids
}): Promise<Blockings> {
  const { shelf, events, clock, ids } = needs
  const inTurn = createTurns()
  const standing = new Map<string, Blocking>()
  const unsure = new Unsure<Blocking>()
  for (const blocking of await shelf.list()) standing.set(pair(blocking), blocking)

  const kept = () => new Map([...unsure, ...standing])
  const endAll = async (which: (blocking: Blocking) => boolean): Promise<Blocking[]> => {
    const ended: Blocking[] = []
    for (const [key, blocking] of kept()) {
      if (!which(blocking)) continue
      await unsure.settle(key, blocking, () => shelf.remove(blocking.blocking_id))
      if (!standing.delete(key)) continue
      events.unblocked(blocking)
      ended.push(blocking)
    }
    return ended
  }

  return {
    block: (blocker, blocked, reason) =>
      inTurn(async () => {
        const key = pair({ blocker, blocked })
        const stands = standing.get(key)
        if (stands?.reason === reason && !unsure.has(key)) return stands
        const before = stands ?? unsure.get(key)
        if (before === undefined && kept().size >= LIMITS.blockings_max) {
          throw new TurnbellError('limit_reached', {
            detail: `${LIMITS.blockings_max} blockings stand, which is the most there may be.`,
            hint: 'Unblock whoever can go on.',
          })
        }
        const blocking: Blocking = {
          blocking_id: before?.blocking_id ?? ids.next(),
          ...{ blocker, blocked, reason },
          since: before?.since ?? timestamp(clock),
        }
        await unsure.settle(key, blocking, () => shelf.put(blocking))
        standing.set(key, blocking)
        if (stands?.reason !== reason) events.blocked(blocking)
        return blocking
      }),
    unblock: (blocked, blocker) =>
      inTurn(() => endAll((one) => one.blocked === blocked && (blocker === null || one.blocker === blocker))),
    personaEnded: (identity) =>
      inTurn(async () => {
        await endAll((one) => one.blocked === identity || one.blocker === identity)
      }),
    list: () => [...standing.values()],
  }
}

function pair({ blocker, blocked }: Pick<Blocking, 'blocker' | 'blocked'>): string {
  return `${blocker} ${blocked}`
}
