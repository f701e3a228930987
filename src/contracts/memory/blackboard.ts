/** Inputs and outputs of the blackboard. */
import * as z from 'zod'
import { DecideInput, Decided } from './decision.ts'
import { Entry, EntryTags, EntryType, MemorySummary, MemoryText, RelatesTo } from './entry.ts'
import { Timestamp, Ulid } from '../ids.ts'
import { LIMITS } from '../limits/limits.ts'
import { optionalFields } from '../validation/partial-shape.ts'
import { RANKING } from '../text/ranking.ts'
import { RecordAgent, RecordScope, RecordTime, SCOPE_DEFAULT } from './records.ts'

export const EntryTypes = z.array(EntryType).min(1).max(EntryType.options.length)

/** Fields of a decision that other entries do not have. */
const REASONS = optionalFields(DecideInput.omit({ summary: true, scope: true, agent_id: true }).shape)

export const PostInput = z.strictObject({
  entry_type: EntryType,
  summary: MemorySummary,
  detail: MemoryText.default(''),
  tags: EntryTags,
  scope: RecordScope.default(SCOPE_DEFAULT),
  relates_to: RelatesTo.optional(),
  agent_id: RecordAgent.optional(),
  ...REASONS,
})
export type PostInput = z.infer<typeof PostInput>
export const REASON_FIELDS = Object.keys(REASONS)

export const Posted = z.object({
  id: Ulid,
  timestamp: Timestamp,
  /** Present if the post was a decision. */
  decision: Decided.optional(),
})
export type Posted = z.infer<typeof Posted>

export const ReadInput = z.strictObject({
  entry_types: EntryTypes.optional(),
  /** Entries with at least one of these tags. */
  tags: z.array(z.string().min(1)).min(1).max(LIMITS.tags_max).optional(),
  /** Entries inside this scope. */
  scope: RecordScope.optional(),
  since: RecordTime.optional(),
  until: RecordTime.optional(),
  /** Only unresolved needs, questions and warnings. */
  open: z.boolean().default(false),
  limit: z.number().int().min(1).max(LIMITS.entries_page_max).default(LIMITS.entries_page_default),
})
export type ReadInput = z.infer<typeof ReadInput>
/** The newest entries that fit, oldest first. */
export const ReadAnswer = z.object({ entries: z.array(Entry), total_count: z.number().int() })
export type ReadAnswer = z.infer<typeof ReadAnswer>

export const RecentInput = z.strictObject({
  n: z.number().int().min(1).max(LIMITS.entries_page_max).default(LIMITS.entries_recent_default),
  entry_types: EntryTypes.optional(),
})
export type RecentInput = z.infer<typeof RecentInput>

const Query = z.string().min(1).max(LIMITS.query_length_max)
const ResultLimit = z
  .number()
  .int()
  .min(1)
  .max(LIMITS.memory_results_max)
  .default(LIMITS.search_results_default)

export const QueryInput = z.strictObject({
  query: Query,
  entry_types: EntryTypes.optional(),
  scope: RecordScope.optional(),
  limit: ResultLimit,
})
export type QueryInput = z.infer<typeof QueryInput>
export const QueryAnswer = z.object({
  /** Best match first; `relevance` is between 0 and 1. */
  results: z.array(z.object({ entry: Entry, relevance: z.number() })),
  ...RANKING,
})
export type QueryAnswer = z.infer<typeof QueryAnswer>

export const ArchiveInput = z.strictObject({
  /** Entries before this time; all by default. */
  before: RecordTime.optional(),
  /** Keeps decisions. */
  keep_decisions: z.boolean().default(true),
  /** Keeps constraints and unresolved needs, questions and warnings. */
  keep_open: z.boolean().default(false),
  /** Posts a finding that summarizes the archived entries. */
  summarize: z.boolean().default(true),
})
export type ArchiveInput = z.infer<typeof ArchiveInput>
export const Archived = z.object({
  archived_count: z.number().int(),
  /** Relative to the root of the project; null if nothing was archived. */
  archive_file: z.string().nullable(),
  summary: z.string().optional(),
})
export type Archived = z.infer<typeof Archived>

export const MemoryStatus = z.object({
  project: z.string(),
  blackboard_entries: z.number().int(),
  active_decisions: z.number().int(),
  provisional_decisions: z.number().int(),
  graph_entities: z.number().int(),
  graph_relations: z.number().int(),
  last_activity: Timestamp.nullable(),
  needs_archiving: z.boolean(),
  /** Problems for a person: invalid settings, quarantined files. */
  warnings: z.array(z.string()),
  ...RANKING,
})
export type MemoryStatus = z.infer<typeof MemoryStatus>

export const ExportInput = z.strictObject({ scope: RecordScope.default(SCOPE_DEFAULT) })
export type ExportInput = z.infer<typeof ExportInput>
export const Exported = z.object({
  markdown: z.string(),
  /** The document was truncated; its end lists what is missing. */
  truncated: z.boolean(),
})
export type Exported = z.infer<typeof Exported>
