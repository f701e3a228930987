/** The blackboard of a project: what agents tell all others, and what waits for an answer. */
import { sameText } from '../../contracts/same-text.ts'
import { createArchiving } from './archiving.ts'
import { exportOf } from './export.ts'
import { statusOf } from './status.ts'
import {
  REASON_FIELDS,
  type Archived,
  type ArchiveInput,
  type Exported,
  type ExportInput,
  type MemoryStatus,
  type Posted,
  type PostInput,
  type QueryAnswer,
  type QueryInput,
  type ReadAnswer,
  type ReadInput,
  type RecentInput,
} from '../../contracts/blackboard.ts'
import type { ArchiveTrigger } from '../../contracts/spool.ts'
import { DecideInput } from '../../contracts/decision.ts'
import { describeParams } from '../../contracts/describe.ts'
import type { Entry, EntryType } from '../../contracts/entry.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { Decisions } from '../decisions/service.ts'
import { archivedRows } from '../memory/archived.ts'
import { authorOf } from '../memory/author.ts'
import type { Library } from '../memory/library.ts'
import { openOnes } from '../memory/open.ts'
import type { MemoryCall, MemoryPlaces } from '../memory/place.ts'
import { best, told, type MemorySearch } from '../memory/ranking.ts'
import { within } from '../memory/scope.ts'
import type { TellMemory } from '../memory/tell.ts'
import { shownTo } from '../signals/defang.ts'
import { withinBytes } from '../within-bytes.ts'

/** Every call may throw `project_unknown` and `store_unavailable`. */
export interface Blackboard {
  /** A decision has to bring its reasons, and is made as one. Throws `params_invalid` and `record_too_large`. */
  post(call: MemoryCall, input: PostInput): Promise<Posted>
  /**
   * One that was left behind under an id of its own: where that was posted, and be it archived since, nothing
   * changes. Throws `params_invalid` for a decision, and `record_too_large`.
   */
  postLeft(call: MemoryCall, input: PostInput, left: LeftUnder): Promise<void>
  read(call: MemoryCall, input: ReadInput): Promise<ReadAnswer>
  query(call: MemoryCall, input: QueryInput): Promise<QueryAnswer>
  recent(call: MemoryCall, input: RecentInput): Promise<{ entries: Entry[] }>
  archive(call: MemoryCall, input: ArchiveInput): Promise<Archived>
  /**
   * What a commit or the end of a piece of work has made old, unless the project wants none of it. What is open
   * stays. The same request again only finishes what it had begun.
   */
  archiveAfter(
    call: MemoryCall,
    wish: { trigger: ArchiveTrigger; before: string },
    left: LeftUnder,
  ): Promise<Archived | null>
  /** Of every project that was called since this process began: the older half, where there is too much. */
  sweep(): Promise<void>
  status(call: MemoryCall): Promise<MemoryStatus>
  export(call: MemoryCall, input: ExportInput): Promise<Exported>
}

/** Under which id it was left behind, and when. */
export interface LeftUnder {
  id: string
  at: string
}

export interface BlackboardNeeds {
  places: MemoryPlaces
  decisions: Pick<Decisions, 'decide'>
  search: MemorySearch
  tell: TellMemory
  clock: Clock
  ids: Ids
  log: Pick<Log, 'warn'>
}

export function createBlackboard(needs: BlackboardNeeds): Blackboard {
  const { places, decisions, search, tell, clock, ids } = needs

  const postDecision = async (call: MemoryCall, input: PostInput): Promise<Posted> => {
    const { entry_type: _, detail, tags, relates_to, ...said } = input
    const given = {
      domain: DOMAIN_DEFAULT,
      ...said,
      ...((said.context ?? detail) ? { context: said.context ?? detail } : {}),
    }
    const parsed = DecideInput.safeParse(given)
    if (!parsed.success) {
      throw new TurnbellError('params_invalid', {
        detail: `A decision needs its reasons: ${describeParams(DecideInput, given, parsed.error)}`,
        hint: 'Post it with rationale (why this) and context, or detail (what made it necessary); alternatives with reason_rejected keep others from trying them again. `decisions decide` takes the same.',
      })
    }
    const {
      entry_id,
      timestamp: at,
      id,
      status,
      conflicts,
    } = await decisions.decide(call, parsed.data, {
      detail,
      ...(tags.length === 0 ? {} : { tags }),
      ...(relates_to === undefined ? {} : { relates_to }),
    })
    return { id: entry_id, timestamp: at, decision: { id, timestamp: at, status, conflicts } }
  }

  const postEntry = async (
    call: MemoryCall,
    toWrite: MemoryPlaces['toWrite'],
    input: PostInput,
    { id, at }: LeftUnder,
    keep: (library: Library, entry: Entry) => Promise<boolean>,
  ): Promise<Posted> => {
    const { agent_id, entry_type, summary, detail, tags, scope: _, relates_to, ...reasons } = input
    const [field] = Object.keys(reasons)
    if (field !== undefined) {
      throw new TurnbellError('params_invalid', {
        detail: `${field}: only an entry of the type decision has one, and this is a ${entry_type}.`,
        hint: `Leave out ${REASON_FIELDS.join(', ')}, or post a decision.`,
      })
    }
    const place = await toWrite(call)
    const { scope } = place.here(input)
    const entry = bounded({
      ...{ id, timestamp: at, agent_id: authorOf(call, agent_id), entry_type },
      ...{ tags, ...(relates_to === undefined ? {} : { relates_to }), scope, summary, detail },
    })
    if (!(await keep(place.library, entry))) return { id, timestamp: at }
    search.learn(place.library)
    tell(call, place, 'memory.entry_posted', { id, entry_type, scope, summary })
    return { id, timestamp: at }
  }

  return {
    ...createArchiving(needs),
    async post(call, input) {
      if (input.entry_type === 'decision') return postDecision(call, input)
      const fresh = { id: ids.next(), at: timestamp(clock) }
      return postEntry(
        call,
        (to) => places.toWrite(to),
        input,
        fresh,
        async ({ entries }, entry) => {
          await entries.put(entry)
          return true
        },
      )
    },

    async postLeft(call, input, left) {
      if (input.entry_type === 'decision') {
        throw new TurnbellError('params_invalid', {
          detail: 'entry_type: a decision is answered with what it contradicts, and so is never left behind.',
          hint: 'Record it with `decisions decide` while the hub is there.',
        })
      }
      await postEntry(call, (to) => places.toWriteJustThere(to), input, left, putIfNew)
    },

    async read(call, input) {
      const { library, here } = places.toRead(call)
      const { entry_types, tags, scope, since, until, open, limit } = here(input)
      const all = await library.entries.all()
      const [from, to] = [timeOf(since, -Infinity), timeOf(until, Infinity)]
      const wanted = (open ? openOnes(all) : all).filter((entry) => {
        const at = Date.parse(entry.timestamp)
        return (
          isOfType(entry, entry_types) &&
          (tags === undefined || tags.some((tag) => entry.tags.some((one) => sameText(one, tag)))) &&
          (scope === undefined || within(entry.scope, scope)) &&
          at >= from &&
          at < to
        )
      })
      return shownTo(call.caller, { entries: newest(wanted, limit), total_count: wanted.length })
    },

    async query(call, input) {
      const { library, here } = places.toRead(call)
      const { query, entry_types, scope, limit } = here(input)
      const all = await library.entries.all()
      const ranking = await search.rank(library, 'entry', all, query)
      const wanted = all.filter(
        (entry) => isOfType(entry, entry_types) && (scope === undefined || within(entry.scope, scope)),
      )
      const results = best(wanted, ranking.scores, limit).map(({ item, relevance }) => ({
        entry: item,
        relevance,
      }))
      return shownTo(call.caller, {
        results: withinBytes(results, LIMITS.answer_list_bytes_max),
        ...told(ranking),
      })
    },

    async recent(call, { n, entry_types }) {
      const { library } = places.toRead(call)
      const wanted = (await library.entries.all()).filter((entry) => isOfType(entry, entry_types))
      return shownTo(call.caller, { entries: newest(wanted, n) })
    },

    async status(call) {
      return { ...(await statusOf(places.toRead(call))), ...told(search.rankedBy()) }
    },

    async export(call, input) {
      const place = places.toRead(call)
      return shownTo(call.caller, await exportOf(place, place.here(input).scope, timestamp(clock)))
    },
  }
}

/** False where it is there already, or was archived since. */
function putIfNew(library: Library, entry: Entry): Promise<boolean> {
  return library.entries.exclusive(async (held) => {
    const { id, timestamp: at } = entry
    if ((await held.all()).some((other) => other.id === id)) return false
    if ((await archivedRows(library, at)).has(id)) return false
    await held.put(entry)
    return true
  })
}

/** Of a decision that is posted without one. */
const DOMAIN_DEFAULT = 'implementation'

function isOfType({ entry_type }: Entry, types: readonly EntryType[] | undefined): boolean {
  return types === undefined || types.includes(entry_type)
}

/** The last ones that fit into an answer, oldest first. */
function newest(entries: readonly Entry[], limit: number): Entry[] {
  return withinBytes(entries.slice(-limit).toReversed(), LIMITS.answer_list_bytes_max).toReversed()
}

function timeOf(said: string | undefined, otherwise: number): number {
  return said === undefined ? otherwise : Date.parse(said)
}

/** Throws `record_too_large`. */
function bounded(entry: Entry): Entry {
  const bytes = Buffer.byteLength(JSON.stringify(entry))
  if (bytes <= LIMITS.record_bytes_max) return entry
  throw new TurnbellError('record_too_large', {
    detail: `This entry would have ${bytes} bytes; ${LIMITS.record_bytes_max} are allowed.`,
  })
}
