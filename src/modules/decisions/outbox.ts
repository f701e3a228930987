/**
 * Says what decisions still owe to the blackboard and to the graph. A change is kept together with what is to be said of
 * it, so neither a crash nor a file that cannot be written takes one without the other: the pattern known as transactional
 * outbox. An entry that is there already is not posted again.
 */
import { isDeepStrictEqual } from 'node:util'
import { feedGraph } from './feed.ts'
import { isTaken } from './formers.ts'
import type { Decision, Owed } from '../../contracts/decision.ts'
import type { Entry } from '../../contracts/entry.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Log } from '../../ports/log.ts'
import { archivedRows, type ArchivedRows } from '../memory/archived.ts'
import type { Library } from '../memory/library.ts'
import { openOnes } from '../memory/open.ts'

export interface Outbox {
  /** What cannot be said now stays in the decisions, and why goes to `onTrouble`. */
  deliver(library: Library, decisions: readonly Decision[], delivery: Delivery): Promise<void>
}

interface Delivery {
  /** They may have been told of before, by who came to no end with it. */
  late: boolean
  onTrouble: (error: unknown) => void
}

type Receiver = 'blackboard' | 'graph'
interface Paid {
  entries: Set<string>
  graph: Set<string>
}

export function createOutbox({ clock, ids, log }: { clock: Clock; ids: Ids; log: Log }): Outbox {
  return {
    async deliver(library, decisions, { late, onTrouble }) {
      const shut = new Set<Receiver>()
      /** Whether that is over with: also where it is refused for what it says. */
      const isOver = async (receiver: Receiver, work: () => Promise<unknown>): Promise<boolean> => {
        if (shut.has(receiver)) return false
        try {
          await work()
        } catch (error) {
          // What breaks on one may do for the others.
          if (!(error instanceof TurnbellError)) return (onTrouble(error), false)
          if (error.code === 'store_unavailable') {
            shut.add(receiver)
            return (onTrouble(error), false)
          }
          log.warn({ err: error, receiver }, 'something of a decision could not be told, and never will be')
        }
        return true
      }
      const paid: Paid = { entries: new Set(), graph: new Set() }
      // In the order in which it came about, whose decision it may be of: answers come behind what they answer.
      const entries = decisions
        .flatMap(({ outbox }) => outbox?.entries ?? [])
        .toSorted((one, other) => (one.id < other.id ? -1 : 1))
      let archived: ArchivedRows = new Map()
      try {
        if (late && entries.length > 0) archived = await archivedRows(library, entries[0]?.timestamp)
      } catch (error) {
        // Nobody knows what of it was said and archived since.
        shut.add('blackboard')
        onTrouble(error)
      }
      for (const entry of entries) {
        if (await isOver('blackboard', () => say(library, entry, archived))) paid.entries.add(entry.id)
      }
      for (const decision of decisions) {
        if (decision.outbox?.graph !== true) continue
        if (await isOver('graph', () => feedGraph(library, decision, { clock, ids })))
          paid.graph.add(decision.id)
      }
      const mayBeLess = paid.entries.size + paid.graph.size > 0 || decisions.some(takesBack)
      if (mayBeLess) await clear(library, decisions, paid, onTrouble)
    },
  }
}

/** One that is empty, as somebody may have left it, owes nothing. */
export function owingOnes(decisions: readonly Decision[]): Decision[] {
  return decisions.filter((decision) => Object.values(OWING).some((owes) => owes(decision)))
}

/** Of whom what was tried last, of each sort of what is owed. */
export type Tried = Partial<Record<keyof typeof OWING, string>>

const OWING = {
  entries: ({ outbox }: Decision) => (outbox?.entries.length ?? 0) > 0,
  graph: ({ outbox }: Decision) => outbox?.graph === true,
  takes_back: takesBack,
}

/**
 * Some of those that owe, of each sort so many: what owes only to who takes nothing now keeps no other waiting. Begins
 * behind those of the last time, which may be those that cannot be told of.
 */
export function owingSome(left: readonly Decision[], tried: Tried): Set<Decision> {
  const some = new Set<Decision>()
  for (const sort of ['takes_back', 'entries', 'graph'] as const) {
    const last = tried[sort] ?? ''
    const all = left.filter(OWING[sort])
    const next = [...all.filter(({ id }) => id > last), ...all.filter(({ id }) => id <= last)]
    for (const decision of next.slice(0, LIMITS.outbox_batch_max)) {
      some.add(decision)
      tried[sort] = decision.id
    }
  }
  return some
}

function takesBack({ outbox }: Decision): boolean {
  return outbox?.takes_back !== undefined
}

async function say(library: Library, { settles, ...entry }: Owed, archived: ArchivedRows): Promise<void> {
  const { relates_to = [] } = entry
  await library.entries.exclusive(async (held) => {
    const all = await held.all()
    if (archived.has(entry.id) || all.some(({ id }) => id === entry.id)) return
    const open = settles === undefined ? [] : settledBy(entry, settles, all)
    if (settles === 'all_if_any' && open.length === 0) return
    await held.put({ ...entry, relates_to: [...new Set([...relates_to, ...open])] })
  })
}

/** Warnings of the decision that nobody has answered, and that were there when it changed. */
function settledBy(entry: Entry, settles: Owed['settles'], all: readonly Entry[]): string[] {
  const decision = entry.relates_to?.[0]
  return openOnes(all).flatMap(({ id, entry_type, tags, relates_to = [] }) => {
    const ofIt = entry_type === 'warning' && id < entry.id && relates_to.some((one) => one === decision)
    // That another one contradicts it is still to be settled where it only stands.
    const ofAnother = settles === 'own' && tags.includes('conflict') && relates_to[0] !== decision
    return ofIt && !ofAnother ? [id] : []
  })
}

/** Takes that out of the outboxes, to which more may have come meanwhile. */
async function clear(
  { decisions }: Library,
  changed: readonly Decision[],
  paid: Paid,
  onTrouble: (error: unknown) => void,
): Promise<void> {
  const ids = new Set(changed.map(({ id }) => id))
  await decisions.exclusive(async (held) => {
    const all = await held.all()
    for (const decision of all) {
      if (decision.outbox === undefined || !ids.has(decision.id)) continue
      const { outbox: before, ...rest } = decision
      const outbox = withoutPaid(before, paid, decision, all)
      if (outbox !== undefined && isDeepStrictEqual(outbox, before)) continue
      try {
        // Less than before fits, whatever it was.
        await held.put(outbox === undefined ? rest : { ...rest, outbox })
      } catch (error) {
        onTrouble(error)
      }
    }
  })
}

/** What is left of it; undefined where that is nothing. */
function withoutPaid(
  { takes_back, ...outbox }: NonNullable<Decision['outbox']>,
  { entries: said, graph: fed }: Paid,
  decision: Decision,
  all: readonly Decision[],
): Decision['outbox'] {
  const entries = outbox.entries.filter((entry) => !said.has(entry.id))
  const graph = outbox.graph && !fed.has(decision.id)
  const kept = takes_back === undefined || isTaken(all, decision) ? {} : { takes_back }
  return entries.length > 0 || graph || 'takes_back' in kept ? { entries, graph, ...kept } : undefined
}
