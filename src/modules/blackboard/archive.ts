/**
 * Moves old entries from the blackboard to the archive. Decisions stay.
 *
 * An entry is durable in the archive before it is removed from the blackboard. A crash in between leaves it in both,
 * and the next archiving removes it. The summary is written before any entry is removed.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Archived, ArchiveInput } from '../../contracts/memory/blackboard.ts'
import type { Entry, EntryType } from '../../contracts/memory/entry.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { SCOPE_DEFAULT } from '../../contracts/memory/records.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { RecordBody } from '../../ports/record-store.ts'
import { truncate } from '../../contracts/text/truncate.ts'
import { archivedRows, dayOf, type ArchivedRows } from '../memory/archived.ts'
import type { ProjectMemory } from '../memory/project-memory.ts'
import { openEntries } from '../memory/open-entries.ts'
import type { SpoolOrigin } from './types.ts'

export interface ArchiveWish extends Omit<ArchiveInput, 'keep_decisions'> {
  agent_id: string
  /** Maximum number of entries, the oldest first. */
  count_max?: number
  /**
   * Id and time of a request that may be repeated. The summary gets this id; if it exists already, only an
   * interrupted archiving is finished.
   */
  origin?: SpoolOrigin
}

const TOPICS_MAX = 8

export async function archiveEntries(
  memory: ProjectMemory,
  { before, keep_open, summarize, agent_id, count_max = Infinity, origin }: ArchiveWish,
  { clock, ids }: { clock: Clock; ids: Ids },
): Promise<Archived> {
  const { entries, records } = memory
  const day = dayOf(clock.now())
  const { moved, summary } = await entries.exclusive(async (held) => {
    const all = await held.list()
    const archived = origin === undefined ? NOTHING : await archivedRows(memory, origin.at)
    const begun = origin !== undefined && (all.some(({ id }) => id === origin.id) || archived.has(origin.id))
    const wanted = archivable(all, { before, keep_open }).slice(0, count_max)
    const moving = begun ? wanted.filter(({ id }) => archived.has(id)) : wanted
    const store = async (entry: Entry): Promise<void> => {
      const existing = archived.get(entry.id)
      if (isDeepStrictEqual(existing?.body, entry)) return
      await records.put(`archive/${existing?.day ?? day}`, entry.id, entry as unknown as RecordBody)
    }
    await Promise.all(moving.map(store))
    const text = summarize && !begun && moving.length > 0 ? summaryOf(moving) : undefined
    await Promise.all([
      ...(text === undefined ? [] : [held.put(summaryEntry(text))]),
      ...moving.map(({ id }) => held.remove(id)),
    ])
    return { moved: moving, summary: text }
  })
  if (moved.length === 0) return { archived_count: 0, archive_file: null }
  return {
    archived_count: moved.length,
    // Memory outside any project is stored in the hub's own files, which people do not read.
    archive_file: memory.project === null ? null : `.turnbell/archive/${day}-blackboard.jsonl`,
    ...(summary === undefined ? {} : { summary }),
  }

  function summaryEntry(text: string): Entry {
    return {
      id: origin?.id ?? ids.next(),
      timestamp: timestamp(clock),
      agent_id,
      entry_type: 'finding',
      tags: [SUMMARY_TAG],
      scope: SCOPE_DEFAULT,
      summary: truncate(text, LIMITS.memory_summary_length_max),
      detail: truncate(text, LIMITS.memory_text_length_max),
    }
  }
}

const NOTHING: ArchivedRows = new Map()

/**
 * Returns entries that may be archived: older than the given time, neither decisions nor open. With `keep_open`
 * constraints stay as well, because a constraint holds until it is withdrawn. Summaries of earlier archivings are
 * archived only together with other entries; otherwise each archiving would leave one entry for the next.
 */
export function archivable(
  entries: readonly Entry[],
  { before, keep_open }: { before?: string | undefined; keep_open: boolean },
): Entry[] {
  const until = before === undefined ? Infinity : Date.parse(before)
  const kept = new Set(keep_open ? openEntries(entries) : [])
  const staying: readonly EntryType[] = keep_open ? ['decision', 'constraint'] : ['decision']
  const candidates = entries.filter(
    (entry) => !staying.includes(entry.entry_type) && Date.parse(entry.timestamp) < until && !kept.has(entry),
  )
  return candidates.every(isArchiveSummary) ? [] : candidates
}

const SUMMARY = 'Archive summary: '
const SUMMARY_TAG = 'archive'

function isArchiveSummary({ entry_type, tags, summary }: Entry): boolean {
  return entry_type === 'finding' && tags.join() === SUMMARY_TAG && summary.startsWith(SUMMARY)
}

/** Order of the key items in a summary; within a type the newest come first. */
const TYPE_ORDER = [
  'warning',
  'need',
  'question',
  'finding',
  'constraint',
  'answer',
  'artifact',
  'offer',
  'status',
]

function summaryOf(moved: readonly Entry[]): string {
  const described = moved.filter((entry) => !isArchiveSummary(entry))
  const words = described.flatMap(({ tags, scope }) => (tags.length > 0 ? tags : [scope]))
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  const topics = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([word]) => word)
  const key = described
    .toReversed()
    .sort((a, b) => TYPE_ORDER.indexOf(a.entry_type) - TYPE_ORDER.indexOf(b.entry_type))
    .slice(0, LIMITS.archive_key_items)
    .map(({ summary }) => summary)
  return (
    `${SUMMARY}${moved.length} entries archived covering ${topics.slice(0, TOPICS_MAX).join(', ')}. ` +
    `Key items: ${key.join('; ')}`
  )
}
