/**
 * Moves what has had its time out of the way. Decisions stay: they are what the rest was about.
 *
 * What goes is in the archive, for good, before it leaves the blackboard; so a crash in between leaves it in both,
 * and the next archiving finishes that: on another day in the file of that day as well. What tells of it is there
 * before anything leaves.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Archived, ArchiveInput } from '../../contracts/blackboard.ts'
import type { Entry, EntryType } from '../../contracts/entry.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { SCOPE_DEFAULT } from '../../contracts/records.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { RecordBody } from '../../ports/record-store.ts'
import { beginning } from '../../contracts/beginning.ts'
import { archivedRows, dayOf, type ArchivedRows } from '../memory/archived.ts'
import type { Library } from '../memory/library.ts'
import { openOnes } from '../memory/open.ts'

export interface ArchiveWish extends Omit<ArchiveInput, 'keep_decisions'> {
  agent_id: string
  /** Only so many, the oldest. */
  most?: number
  /** A request that may come twice: the summary has its id, and where that is there only what was begun is finished. */
  asked?: { id: string; at: string }
}

const TOPICS_MAX = 8

export async function archiveEntries(
  library: Library,
  { before, keep_open, summarize, agent_id, most = Infinity, asked }: ArchiveWish,
  { clock, ids }: { clock: Clock; ids: Ids },
): Promise<Archived> {
  const { entries, records } = library
  const day = dayOf(clock.now())
  const { gone, summary } = await entries.exclusive(async (held) => {
    const all = await held.all()
    const archived = asked === undefined ? NOTHING : await archivedRows(library, asked.at)
    const begun = asked !== undefined && (all.some(({ id }) => id === asked.id) || archived.has(asked.id))
    const wanted = archivable(all, { before, keep_open }).slice(0, most)
    const going = begun ? wanted.filter(({ id }) => archived.has(id)) : wanted
    const keep = async (entry: Entry): Promise<void> => {
      const there = archived.get(entry.id)
      if (isDeepStrictEqual(there?.body, entry)) return
      await records.put(`archive/${there?.day ?? day}`, entry.id, entry as unknown as RecordBody)
    }
    await Promise.all(going.map(keep))
    const said = summarize && !begun && going.length > 0 ? summaryOf(going) : undefined
    await Promise.all([
      ...(said === undefined ? [] : [held.put(told(said))]),
      ...going.map(({ id }) => held.remove(id)),
    ])
    return { gone: going, summary: said }
  })
  if (gone.length === 0) return { archived_count: 0, archive_file: null }
  return {
    archived_count: gone.length,
    // What the hub keeps for nobody's project is no file that anybody looks into.
    archive_file: library.project === null ? null : `.turnbell/archive/${day}-blackboard.jsonl`,
    ...(summary === undefined ? {} : { summary }),
  }

  function told(said: string): Entry {
    return {
      ...{ id: asked?.id ?? ids.next(), timestamp: timestamp(clock), agent_id, entry_type: 'finding' },
      ...{ tags: [SUMMARY_TAG], scope: SCOPE_DEFAULT },
      summary: beginning(said, LIMITS.memory_summary_length_max),
      detail: beginning(said, LIMITS.memory_text_length_max),
    }
  }
}

const NOTHING: ArchivedRows = new Map()

/**
 * What may go: everything that is no decision, is older than the given time, and nobody waits for. A constraint holds
 * until somebody takes it back, so it stays with what is open. What tells of former archiving goes only with others:
 * else every archiving would leave something for the next.
 */
export function archivable(
  entries: readonly Entry[],
  { before, keep_open }: { before?: string | undefined; keep_open: boolean },
): Entry[] {
  const until = before === undefined ? Infinity : Date.parse(before)
  const kept = new Set(keep_open ? openOnes(entries) : [])
  const staying: readonly EntryType[] = keep_open ? ['decision', 'constraint'] : ['decision']
  const going = entries.filter(
    (entry) => !staying.includes(entry.entry_type) && Date.parse(entry.timestamp) < until && !kept.has(entry),
  )
  return going.every(tellsOfArchiving) ? [] : going
}

const SUMMARY = 'Archive summary: '
const SUMMARY_TAG = 'archive'

function tellsOfArchiving({ entry_type, tags, summary }: Entry): boolean {
  return entry_type === 'finding' && tags.join() === SUMMARY_TAG && summary.startsWith(SUMMARY)
}

/** Warnings and needs say most of what went on, then what was found out; of each the newest. */
const WORTH = [
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

function summaryOf(gone: readonly Entry[]): string {
  const said = gone.filter((entry) => !tellsOfArchiving(entry))
  const words = said.flatMap(({ tags, scope }) => (tags.length > 0 ? tags : [scope]))
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  const topics = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([word]) => word)
  const key = said
    .toReversed()
    .sort((a, b) => WORTH.indexOf(a.entry_type) - WORTH.indexOf(b.entry_type))
    .slice(0, LIMITS.archive_key_items)
    .map(({ summary }) => summary)
  return (
    `${SUMMARY}${gone.length} entries archived covering ${topics.slice(0, TOPICS_MAX).join(', ')}. ` +
    `Key items: ${key.join('; ')}`
  )
}
