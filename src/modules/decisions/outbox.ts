/**
 * Says what decisions still owe to the blackboard and to the graph. A change is kept together with what is to be said of
 * it, so neither a crash nor a file that cannot be written takes one without the other: the pattern known as transactional
 * outbox. An entry that is there already is not posted again.
 */
import { feedGraph } from './feed.ts'
import type { Decision, Owed } from '../../contracts/decision.ts'
import type { Entry } from '../../contracts/entry.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Log } from '../../ports/log.ts'
import { archivedRows, type ArchivedRows } from '../memory/archived.ts'
import type { Library } from '../memory/library.ts'
import { openOnes } from '../memory/open.ts'

export interface Outbox {
  /**
   * What cannot be said now stays in the decisions; answers why, or null. `late`: they may have been told of before, by
   * who came to no end with it.
   */
  deliver(library: Library, decisions: readonly Decision[], late?: boolean): Promise<TurnbellError | null>
}

type Receiver = 'blackboard' | 'graph'
interface Paid {
  entries: Set<string>
  graph: Set<string>
}

export function createOutbox({ clock, ids, log }: { clock: Clock; ids: Ids; log: Log }): Outbox {
  return {
    async deliver(library, decisions, late = false) {
      const shut = new Map<Receiver, TurnbellError>()
      /** Whether that is over with: also where it is refused for what it says. */
      const isOver = async (receiver: Receiver, work: () => Promise<unknown>): Promise<boolean> => {
        if (shut.has(receiver)) return false
        try {
          await work()
        } catch (error) {
          if (!(error instanceof TurnbellError)) throw error
          if (error.code === 'store_unavailable') {
            shut.set(receiver, error)
            return false
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
      const archived =
        late && entries.length > 0 ? await archivedRows(library, entries[0]?.timestamp) : NOTHING
      for (const entry of entries) {
        if (await isOver('blackboard', () => say(library, entry, archived))) paid.entries.add(entry.id)
      }
      for (const decision of decisions) {
        if (decision.outbox?.graph !== true) continue
        if (await isOver('graph', () => feedGraph(library, decision, { clock, ids })))
          paid.graph.add(decision.id)
      }
      if (paid.entries.size + paid.graph.size > 0) await clear(library, decisions, paid)
      return [...shut.values()][0] ?? null
    },
  }
}

export function owingOnes(decisions: readonly Decision[]): Decision[] {
  return decisions.filter(({ outbox }) => outbox !== undefined)
}

const NOTHING: ArchivedRows = new Map()

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
  { entries: said, graph: fed }: Paid,
): Promise<void> {
  const ids = new Set(changed.map(({ id }) => id))
  await decisions.exclusive(async (held) => {
    for (const decision of await held.all()) {
      if (decision.outbox === undefined || !ids.has(decision.id)) continue
      const { outbox, ...rest } = decision
      const entries = outbox.entries.filter((entry) => !said.has(entry.id))
      const graph = outbox.graph && !fed.has(decision.id)
      await held.put(entries.length > 0 || graph ? { ...rest, outbox: { entries, graph } } : rest)
    }
  })
}
