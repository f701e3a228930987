/**
 * Says what decisions still owe to the blackboard and to the graph. A change is kept together with what is to be said of
 * it, so neither a crash nor a file that cannot be written takes one without the other: the pattern known as transactional
 * outbox. An entry that is there already is not posted again.
 */
import { feedGraph } from './feed.ts'
import type { Decision, Owed } from '../../contracts/decision.ts'
import type { Entry } from '../../contracts/entry.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Log } from '../../ports/log.ts'
import type { Library } from '../memory/library.ts'
import { openOnes } from '../memory/open.ts'

export interface Outbox {
  /** What is refused stays in the decisions, for `retry`. */
  deliver(library: Library, decisions: readonly Decision[]): Promise<void>
  /** All that is owed, where something was refused and some time has passed. */
  retry(library: Library): Promise<void>
}

export function createOutbox({ clock, ids, log }: { clock: Clock; ids: Ids; log: Log }): Outbox {
  /** Of libraries to which something was refused: when that is tried again. */
  const retry_at = new WeakMap<Library, number>()

  const deliver: Outbox['deliver'] = async (library, decisions) => {
    let refusal: unknown = null
    /** What refuses one thing refuses the others of that sort as well. */
    const shut = new Set<'entries' | 'graph'>()
    const tried = async (sort: 'entries' | 'graph', work: () => Promise<unknown>): Promise<boolean> => {
      if (shut.has(sort)) return false
      try {
        await work()
        return true
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        refusal = error
        shut.add(sort)
        return false
      }
    }
    for (const decision of decisions) {
      const { entries = [], graph = false } = decision.outbox ?? {}
      const said: string[] = []
      for (const entry of entries) {
        if (await tried('entries', () => say(library, entry))) said.push(entry.id)
      }
      const fed = graph && (await tried('graph', () => feedGraph(library, decision, { clock, ids })))
      if (said.length > 0 || fed) await paid(library, decision.id, said, fed)
    }
    if (refusal === null) return
    if (!retry_at.has(library))
      log.warn({ err: refusal }, 'what was decided is told of later: it was refused')
    retry_at.set(library, clock.monotonic() + LIMITS.outbox_retry_ms)
  }

  return {
    deliver,
    async retry(library) {
      if (clock.monotonic() < (retry_at.get(library) ?? Infinity)) return
      retry_at.delete(library)
      await deliver(library, owingOnes(await library.decisions.all()))
    },
  }
}

export function owingOnes(decisions: readonly Decision[]): Decision[] {
  return decisions.filter(({ outbox }) => outbox !== undefined)
}

async function say(library: Library, { settles, ...entry }: Owed): Promise<void> {
  const { relates_to = [] } = entry
  await library.entries.exclusive(async (held) => {
    const all = await held.all()
    if (all.some(({ id }) => id === entry.id)) return
    const open = settles === undefined ? [] : warningsOf(all, relates_to[0])
    if (settles === 'only' && open.length === 0) return
    await held.put({ ...entry, relates_to: [...new Set([...relates_to, ...open])] })
  })
}

/** Entries that warn of a decision, and nobody has answered. */
function warningsOf(entries: readonly Entry[], decision: string | undefined): string[] {
  return openOnes(entries).flatMap(({ id, entry_type, relates_to = [] }) =>
    entry_type === 'warning' && relates_to.some((one) => one === decision) ? [id] : [],
  )
}

/** Takes that out of the outbox, to which more may have come meanwhile. */
async function paid(
  { decisions }: Library,
  id: string,
  said: readonly string[],
  fed: boolean,
): Promise<void> {
  await decisions.exclusive(async (held) => {
    const decision = (await held.all()).find((one) => one.id === id)
    if (decision?.outbox === undefined) return
    const { outbox, ...rest } = decision
    const entries = outbox.entries.filter((entry) => !said.includes(entry.id))
    const graph = outbox.graph && !fed
    await held.put(entries.length > 0 || graph ? { ...rest, outbox: { entries, graph } } : rest)
  })
}
