/** Who says to be in whose way. A persona tells it of itself, and takes it back itself. */
import type { Blocking } from '../../contracts/coordination.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Shelf } from '../shelf.ts'
import { createTurns } from '../turns.ts'

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
  for (const blocking of await shelf.list()) standing.set(pair(blocking), blocking)

  const endAll = async (which: (blocking: Blocking) => boolean): Promise<Blocking[]> => {
    const ended = [...standing.values()].filter(which)
    for (const blocking of ended) {
      await shelf.remove(blocking.blocking_id)
      standing.delete(pair(blocking))
      events.unblocked(blocking)
    }
    return ended
  }

  return {
    block: (blocker, blocked, reason) =>
      inTurn(async () => {
        const before = standing.get(pair({ blocker, blocked }))
        if (before?.reason === reason) return before
        if (before === undefined && standing.size >= LIMITS.blockings_max) {
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
        await shelf.put(blocking)
        standing.set(pair(blocking), blocking)
        events.blocked(blocking)
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
