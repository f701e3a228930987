/**
 * Delivers the outboxes of decisions to the blackboard and to the graph. A change of a decision is stored in one file with
 * the entries it causes, so neither a crash nor an unwritable file can store one without the other: a transactional
 * outbox. Entries that exist already are not posted again.
 */
import { isDeepStrictEqual } from 'node:util'
import { feedGraph } from './graph-sync.ts'
import { isOverrideDone } from './supersede.ts'
import type { Decision, OutboxEntry } from '../../contracts/memory/decision.ts'
import type { Entry } from '../../contracts/memory/entry.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Log } from '../../ports/log.ts'
import { archivedRows, type ArchivedRows } from '../memory/archived.ts'
import type { ProjectMemory } from '../memory/project-memory.ts'
import { openEntries } from '../memory/open-entries.ts'

export interface Outbox {
  /** Items that cannot be delivered now stay in the outbox, and the error is passed to `onError`. */
  deliver(memory: ProjectMemory, decisions: readonly Decision[], delivery: Delivery): Promise<void>
}

interface Delivery {
  /** Whether an earlier attempt may have posted some of the entries. */
  repeated: boolean
  onError: (error: unknown) => void
}

type Receiver = 'blackboard' | 'graph'
interface Delivered {
  entries: Set<string>
  graph: Set<string>
}

export function createOutbox({ clock, ids, log }: { clock: Clock; ids: Ids; log: Log }): Outbox {
  return {
    async deliver(memory, decisions, { repeated, onError }) {
      /** Receivers that take nothing now. */
      const blocked = new Set<Receiver>()
      /** Returns whether the item is done: delivered, or rejected for its content. */
      const attempt = async (receiver: Receiver, work: () => Promise<unknown>): Promise<boolean> => {
        if (blocked.has(receiver)) return false
        try {
          await work()
        } catch (error) {
          // An unexpected error may concern this item only.
          if (!(error instanceof TurnbellError)) return (onError(error), false)
          if (error.code === 'store_unavailable') {
            blocked.add(receiver)
            return (onError(error), false)
          }
          log.warn({ err: error, receiver }, 'outbox item rejected; it will not be retried')
        }
        return true
      }
      const delivered: Delivered = { entries: new Set(), graph: new Set() }
      // In order of creation across all decisions, so that answers follow the entries they answer.
      const entries = decisions
        .flatMap(({ outbox }) => outbox?.entries ?? [])
        .toSorted((one, other) => (one.id < other.id ? -1 : 1))
      let archived: ArchivedRows = new Map()
      try {
        if (repeated && entries.length > 0) archived = await archivedRows(memory, entries[0]?.timestamp)
      } catch (error) {
        // Entries posted by an earlier attempt may have been archived, and would be posted twice.
        blocked.add('blackboard')
        onError(error)
      }
      for (const entry of entries) {
        if (await attempt('blackboard', () => postEntry(memory, entry, archived)))
          delivered.entries.add(entry.id)
      }
      for (const decision of decisions) {
        if (decision.outbox?.graph !== true) continue
        if (await attempt('graph', () => feedGraph(memory, decision, { clock, ids })))
          delivered.graph.add(decision.id)
      }
      const has_delivered = delivered.entries.size + delivered.graph.size > 0
      if (has_delivered || decisions.some(hasPendingOverride))
        await removeDelivered(memory, decisions, delivered, onError)
    },
  }
}

/** Decisions whose outbox is not empty. */
export function withPendingOutbox(decisions: readonly Decision[]): Decision[] {
  return decisions.filter((decision) => Object.values(PENDING).some((isPending) => isPending(decision)))
}

/** Id of the last decision tried, for each sort of outbox item. */
export type BatchPosition = Partial<Record<keyof typeof PENDING, string>>

const PENDING = {
  entries: ({ outbox }: Decision) => (outbox?.entries.length ?? 0) > 0,
  graph: ({ outbox }: Decision) => outbox?.graph === true,
  takes_back: hasPendingOverride,
}

/**
 * Returns up to `outbox_batch_max` decisions for each sort of outbox item, so that a blocked receiver does not hold up
 * the others. Continues after the last batch, whose items may be undeliverable.
 */
export function nextBatch(pending: readonly Decision[], position: BatchPosition): Set<Decision> {
  const batch = new Set<Decision>()
  for (const sort of ['takes_back', 'entries', 'graph'] as const) {
    const last = position[sort] ?? ''
    const all = pending.filter(PENDING[sort])
    const next = [...all.filter(({ id }) => id > last), ...all.filter(({ id }) => id <= last)]
    for (const decision of next.slice(0, LIMITS.outbox_batch_max)) {
      batch.add(decision)
      position[sort] = decision.id
    }
  }
  return batch
}

function hasPendingOverride({ outbox }: Decision): boolean {
  return outbox?.takes_back !== undefined
}

async function postEntry(
  memory: ProjectMemory,
  { settles, ...entry }: OutboxEntry,
  archived: ArchivedRows,
): Promise<void> {
  const { relates_to = [] } = entry
  await memory.entries.exclusive(async (held) => {
    const all = await held.list()
    if (archived.has(entry.id) || all.some(({ id }) => id === entry.id)) return
    const settled = settles === undefined ? [] : settledBy(entry, settles, all)
    if (settles === 'all_if_any' && settled.length === 0) return
    await held.put({ ...entry, relates_to: [...new Set([...relates_to, ...settled])] })
  })
}

/** Ids of the open warnings about the decision that are older than the entry. */
function settledBy(entry: Entry, settles: OutboxEntry['settles'], all: readonly Entry[]): string[] {
  const decision = entry.relates_to?.[0]
  return openEntries(all).flatMap(({ id, entry_type, tags, relates_to = [] }) => {
    const isAboutIt = entry_type === 'warning' && id < entry.id && relates_to.some((one) => one === decision)
    // A conflict warning by another decision stays open when this decision is only confirmed.
    const isByAnother = settles === 'own' && tags.includes('conflict') && relates_to[0] !== decision
    return isAboutIt && !isByAnother ? [id] : []
  })
}

/** Removes the delivered items from the outboxes, to which a concurrent change may have added others. */
async function removeDelivered(
  { decisions }: ProjectMemory,
  changed: readonly Decision[],
  delivered: Delivered,
  onError: (error: unknown) => void,
): Promise<void> {
  const ids = new Set(changed.map(({ id }) => id))
  await decisions.exclusive(async (held) => {
    const all = await held.list()
    for (const decision of all) {
      if (decision.outbox === undefined || !ids.has(decision.id)) continue
      const { outbox: before, ...rest } = decision
      const outbox = remainingOutbox(before, delivered, decision, all)
      if (outbox !== undefined && isDeepStrictEqual(outbox, before)) continue
      try {
        // No size check, because the file only gets smaller.
        await held.put(outbox === undefined ? rest : { ...rest, outbox })
      } catch (error) {
        onError(error)
      }
    }
  })
}

/** The outbox without delivered items; undefined where it is empty. */
function remainingOutbox(
  { takes_back, ...outbox }: NonNullable<Decision['outbox']>,
  delivered: Delivered,
  decision: Decision,
  all: readonly Decision[],
): Decision['outbox'] {
  const entries = outbox.entries.filter((entry) => !delivered.entries.has(entry.id))
  const graph = outbox.graph && !delivered.graph.has(decision.id)
  const override = takes_back === undefined || isOverrideDone(all, decision) ? {} : { takes_back }
  return entries.length > 0 || graph || 'takes_back' in override ? { entries, graph, ...override } : undefined
}
