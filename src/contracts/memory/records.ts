/** Declaration of record kinds, and the fields that all records have. */
import * as z from 'zod'
import { Json, Timestamp, Ulid } from '../ids.ts'
import { LIMITS } from '../limits/limits.ts'

const WORDS = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/
const Word = z.string().max(LIMITS.record_name_length_max)

export const KindName = Word.regex(WORDS, 'the name of a kind is lower_case words')
export const RecordStatus = Word.regex(WORDS, 'a status is lower_case words')
/** Area of the project that a record is about: a path, a module, or `project` for all of it. */
export const RecordScope = z.string().min(1).max(LIMITS.record_scope_length_max)
export const SCOPE_DEFAULT = 'project'
/** Declared author of a record; the event has the actual caller. */
export const RecordAgent = z.string().min(1).max(LIMITS.record_agent_length_max)

/** Scope of a call that means all projects; not the `scope` of a record. */
export const PORTFOLIO = 'portfolio'

/**
 * Declaration of a record kind by a facade or a plugin. The input schema, the stored schema and the allowed status
 * transitions are derived from it.
 */
export interface RecordKind {
  name: string
  /** One sentence: what such a record represents. */
  summary: string
  /** Strict object with the kind's own fields. Constraints between fields are not checked. */
  fields: z.ZodObject
  status?: StatusRules
  /** `project`: stored in the project of the call. `hub`: stored in the home. */
  keeper: 'project' | 'hub'
  /**
   * Facade whose actions alone change such records, because they enforce more than the schema. Other callers can only
   * read them.
   */
  changed_by?: string
  /** Converts the facade's own stored form to a record; the number is its position in the order of ids. */
  toRecord?: (kept: { [key: string]: Json }, place: number) => { [key: string]: Json }
  /** Fields that identify a record: putting the same values again changes the existing one. */
  unique?: readonly string[]
  examples?: readonly Record<string, Json>[]
}

export interface StatusRules {
  initial: string
  /** Allowed next statuses of each status; a status without an entry is final. */
  moves: Readonly<Record<string, readonly string[]>>
  /** Effect of `close`. A kind without it cannot be closed. */
  closing?: {
    to: string
    /** Fields of a close. */
    fields?: Readonly<Record<string, z.ZodType>>
  }
}

/** Returns the final statuses. */
export function endsOf({ status }: Pick<RecordKind, 'status'>): ReadonlySet<string> {
  const { initial, moves } = status ?? { initial: '', moves: {} }
  return new Set([initial, ...Object.values(moves).flat()].filter((one) => one !== '' && !(one in moves)))
}

/** Converts an object with a `timestamp`, or with both times, to a record whose generation follows its id. */
export function toRecordForm(kind: string): NonNullable<RecordKind['toRecord']> {
  return (kept, place) => {
    const { timestamp = null, created_at = timestamp, updated_at = created_at } = kept
    const common = { scope: SCOPE_DEFAULT, agent_id: 'main' }
    return { ...common, ...kept, kind, created_at, updated_at, generation: place + 1 }
  }
}

/** Fields that all records have, in addition to those of their kind. */
export const COMMON_FIELDS = {
  id: Ulid,
  kind: KindName,
  scope: RecordScope,
  agent_id: RecordAgent,
  created_at: Timestamp,
  updated_at: Timestamp,
  /** Increases with every change of any record of this kind in this store, and orders them. */
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

/** Filter keys other than field names. */
export const FILTER_WORDS = {
  /** Minimum `created_at`, inclusive. */
  since: RecordTime.optional(),
  /** Maximum `created_at`, exclusive. */
  until: RecordTime.optional(),
  /** Part of any text in the record, ignoring case. */
  text: z.string().min(1).max(LIMITS.filter_text_length_max).optional(),
}

const SORT_FIELDS = [
  ...(['generation', 'created_at', 'updated_at', 'id', 'status', 'scope', 'agent_id'] as const),
] as const
const sorts = SORT_FIELDS.flatMap((field) => [field, `-${field}` as const])
export const RecordSort = z.enum(sorts)
export type RecordSort = z.infer<typeof RecordSort>

/** Size and order of a page. */
export const PAGE_FIELDS = {
  /** Descending with a leading `-`. Default: the newest change first. */
  sort: RecordSort.default('-generation'),
  limit: z.number().int().min(1).max(LIMITS.records_page_max).default(LIMITS.records_page_default),
  /** `next` of the previous page. */
  after: z.string().min(1).max(LIMITS.cursor_length_max).optional(),
}

export const RecordPage = z.object({
  records: z.array(KeptRecord),
  /** Value for `after`; null on the last page. */
  next: z.string().nullable(),
  /** Number of matches on all pages. */
  total: z.number().int(),
})
export type RecordPage = z.infer<typeof RecordPage>
