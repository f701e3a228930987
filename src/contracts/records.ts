/** Records: what a kind of them is, and what every record has beside its kind's own fields. */
import * as z from 'zod'
import { Json, Timestamp, Ulid } from './ids.ts'
import { LIMITS } from './limits.ts'

const WORDS = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/
const Word = z.string().max(LIMITS.record_word_length_max)

export const KindName = Word.regex(WORDS, 'the name of a kind is lower_case words')
export const RecordStatus = Word.regex(WORDS, 'a status is lower_case words')
/** The area inside the project that a record is about: a path, a module, or `project` for all of it. */
export const RecordScope = z.string().min(1).max(LIMITS.record_scope_length_max)
export const SCOPE_DEFAULT = 'project'
/** Who a record is by, as it is told; who really called stands in the event. */
export const RecordAgent = z.string().min(1).max(LIMITS.record_agent_length_max)

/** The call's scope that means every known project at once. Not to be mixed up with a record's own `scope`. */
export const PORTFOLIO = 'portfolio'

/**
 * A kind as a facade or a plugin declares it. Everything else is derived: what a put accepts, what a file
 * must hold, which changes of status are allowed.
 */
export interface RecordKind {
  name: string
  /** One sentence: what such a record stands for. */
  summary: string
  /** A strict object of the kind's own fields. What must hold between them is not looked at. */
  fields: z.ZodObject
  status?: StatusRules
  /** `project`: kept in the project that the call is about. `hub`: always with the hub. */
  keeper: 'project' | 'hub'
  /**
   * The facade whose actions alone change such records, because more has to hold than fields can say. For
   * everybody else they are there to be found.
   */
  changed_by?: string
  /**
   * What is kept as such a record, where its facade keeps it in a form of its own; the number is its place in the
   * order of their ids.
   */
  told?: (kept: { [key: string]: Json }, place: number) => { [key: string]: Json }
  /** Fields that together name a record: putting the same again changes the one that is there. */
  unique?: readonly string[]
  examples?: readonly Record<string, Json>[]
}

export interface StatusRules {
  initial: string
  /** From each status the ones it may go to; one that is no key here is an end. */
  moves: Readonly<Record<string, readonly string[]>>
  /** What `close` does. A kind without it cannot be closed. */
  closing?: {
    to: string
    /** What is told with the close. */
    fields?: Readonly<Record<string, z.ZodType>>
  }
}

/** The statuses that nothing comes after. */
export function endsOf({ status }: Pick<RecordKind, 'status'>): ReadonlySet<string> {
  const { initial, moves } = status ?? { initial: '', moves: {} }
  return new Set([initial, ...Object.values(moves).flat()].filter((one) => one !== '' && !(one in moves)))
}

/** As a record: what has a `timestamp`, or its own two times, and is newer the later its id. */
export function toldAsRecord(kind: string): NonNullable<RecordKind['told']> {
  return (kept, place) => {
    const { timestamp = null, created_at = timestamp, updated_at = created_at } = kept
    const common = { scope: SCOPE_DEFAULT, agent_id: 'main' }
    return { ...common, ...kept, kind, created_at, updated_at, generation: place + 1 }
  }
}

/** What every record has. Its kind's own fields stand beside these. */
export const COMMON_FIELDS = {
  id: Ulid,
  kind: KindName,
  scope: RecordScope,
  agent_id: RecordAgent,
  created_at: Timestamp,
  updated_at: Timestamp,
  /** Grows by one with every change of any record of this kind in this store. Orders them; a clock does not. */
  generation: z.number().int().min(1),
}

export const KeptRecord = z.object({ ...COMMON_FIELDS, status: RecordStatus.optional() }).catchall(Json)
export type KeptRecord = z.infer<typeof KeptRecord>

const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])
/** One value, or any of several. */
export const FilterValue = z.union([Scalar, z.array(Scalar).min(1).max(LIMITS.filter_values_max)])
export type FilterValue = z.infer<typeof FilterValue>

const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/
export const RecordTime = z
  .string()
  .refine(
    (text) => TIME.test(text) && !Number.isNaN(Date.parse(text)),
    'an ISO 8601 time with its zone, or a day: 2026-01-31T12:00:00Z, 2026-01-31',
  )

/** Besides these a filter may name any field. */
export const FILTER_WORDS = {
  /** By `created_at`, this time included. */
  since: RecordTime.optional(),
  /** By `created_at`, this time left out. */
  until: RecordTime.optional(),
  /** Part of any text in the record, in upper or lower case. */
  text: z.string().min(1).max(LIMITS.filter_text_length_max).optional(),
}

export const SORT_FIELDS = [
  ...(['generation', 'created_at', 'updated_at', 'id', 'status', 'scope', 'agent_id'] as const),
] as const
const sorts = SORT_FIELDS.flatMap((field) => [field, `-${field}` as const])
export const RecordSort = z.enum(sorts)
export type RecordSort = z.infer<typeof RecordSort>

/** How much of what was found is wanted, and in which order. */
export const PAGE_FIELDS = {
  /** With `-` in front: from the last to the first. The newest change comes first where nothing is said. */
  sort: RecordSort.default('-generation'),
  limit: z.number().int().min(1).max(LIMITS.records_page_max).default(LIMITS.records_page_default),
  /** The `next` of the page before. */
  after: z.string().min(1).max(LIMITS.cursor_length_max).optional(),
}

export const RecordPage = z.object({
  records: z.array(KeptRecord),
  /** For `after`; null on the last page. */
  next: z.string().nullable(),
  /** How many there are, on all pages. */
  total: z.number().int(),
})
export type RecordPage = z.infer<typeof RecordPage>
