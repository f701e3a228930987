/** Context for an agent before a task, and pins and artifacts for the next one. */
import * as z from 'zod'
import { Confidence } from './decision.ts'
import { EntryType } from './entry.ts'
import { Identity, Json, Timestamp, Ulid } from '../ids.ts'
import { LIMITS } from '../limits/limits.ts'
import { RANKING } from '../text/ranking.ts'
import { RecordAgent, RecordScope, RecordTime, SCOPE_DEFAULT, type RecordKind } from './records.ts'

const Budget = z.number().int().min(LIMITS.assemble_tokens_min).max(LIMITS.assemble_tokens_max)

export const AssembleInput = z.strictObject({
  task: z.string().min(1).max(LIMITS.query_length_max),
  scope: RecordScope.default(SCOPE_DEFAULT),
  /** Budget of the whole answer, in tokens; the project's default if absent. */
  max_tokens: Budget.optional(),
})
export type AssembleInput = z.infer<typeof AssembleInput>

/** Usefulness for this task, between 0 and 1. */
const score = z.number()
export const AssembledDecision = z.object({
  id: Ulid,
  summary: z.string(),
  /** Truncated if the budget is exceeded. */
  rationale: z.string(),
  confidence: Confidence,
  /** Present only if the decision is not settled. */
  status: z.literal('provisional').optional(),
  affected_files: z.array(z.string()),
  score,
})
export type AssembledDecision = z.infer<typeof AssembledDecision>
export const AssembledEntry = z.object({
  id: Ulid,
  summary: z.string(),
  detail: z.string().optional(),
  scope: z.string(),
  agent_id: z.string(),
  timestamp: Timestamp,
  score,
})
export type AssembledEntry = z.infer<typeof AssembledEntry>
export const AssembledEntity = z.object({
  name: z.string(),
  type: z.string(),
  /** `decided_by > 01J…`, `< imports src/a.ts`. */
  relations: z.array(z.string()),
})
export type AssembledEntity = z.infer<typeof AssembledEntity>

/** Each list is ordered best first. */
export const Assembled = z
  .object({
    assembled_at: Timestamp,
    task: z.string(),
    scope: z.string(),
    /** Tokens of this whole answer, at most the budget. */
    token_estimate: z.number().int(),
    pinned: z.array(z.object({ key: z.string(), text: z.string() })),
    active_decisions: z.array(AssembledDecision),
    open_needs: z.array(AssembledEntry),
    recent_findings: z.array(AssembledEntry),
    active_warnings: z.array(AssembledEntry),
    recent_questions: z.array(AssembledEntry),
    related_entities: z.array(AssembledEntity),
    /** Number of useful items that did not fit. */
    left_out: z.number().int(),
    degraded: RANKING.degraded,
  })
  .meta({ title: 'Assembled' })
export type Assembled = z.infer<typeof Assembled>

export const SummarizeInput = z.strictObject({ scope: RecordScope.default(SCOPE_DEFAULT) })
export const MemorySummaryAnswer = z.object({
  scope: z.string(),
  active_decisions: z.number().int(),
  provisional_decisions: z.number().int(),
  open_needs: z.number().int(),
  active_warnings: z.number().int(),
  unanswered_questions: z.number().int(),
  recent_activity_summary: z.string(),
})
export type MemorySummaryAnswer = z.infer<typeof MemorySummaryAnswer>

export const WhatChangedInput = z.strictObject({ since: RecordTime, scope: RecordScope.optional() })
export type WhatChangedInput = z.infer<typeof WhatChangedInput>
const Changed = z.object({ id: Ulid, summary: z.string() })
/** Oldest first; if there are too many, the newest are listed. */
export const WhatChanged = z.object({
  new_decisions: z.array(Changed.extend({ status: z.string() })),
  new_entries: z.array(z.object({ id: Ulid, entry_type: EntryType, summary: z.string() })),
  overridden_decisions: z.array(Changed.extend({ reason: z.string() })),
  reconsidered_decisions: z.array(Changed),
  /** Number of all changes. */
  total_count: z.number().int(),
})
export type WhatChanged = z.infer<typeof WhatChanged>

const PinKey = z.string().min(1).max(64)
export const PIN_KIND: RecordKind = {
  name: 'pin',
  summary: 'Text that every agent of the project gets at the start of a session.',
  keeper: 'project',
  fields: z.strictObject({ key: PinKey, text: z.string().min(1).max(LIMITS.pin_length_max) }),
  status: { initial: 'active', moves: { active: ['removed'] }, closing: { to: 'removed' } },
  unique: ['key'],
  examples: [{ key: 'release', text: 'Releases go out on Tuesdays; nothing is merged on Mondays.' }],
}
export const PinInput = z.strictObject({
  /** A pin with the same key is replaced. Default: derived from the text. */
  key: PinKey.optional(),
  text: z.string().min(1).max(LIMITS.pin_length_max),
})
export type PinInput = z.infer<typeof PinInput>
export const Pin = z.object({
  id: Ulid,
  key: z.string(),
  text: z.string(),
  agent_id: z.string(),
  updated_at: Timestamp,
})
export type Pin = z.infer<typeof Pin>
/** By id or by key. */
export const UnpinInput = z.strictObject({ id: Ulid.optional(), key: PinKey.optional() })
export type UnpinInput = z.infer<typeof UnpinInput>

const ARTIFACT = z.strictObject({
  name: z.string().min(1).max(200),
  /** Relative to the root of the project. */
  path: z.string().min(1).max(1_024).optional(),
  text: z.string().max(LIMITS.memory_text_length_max).optional(),
  run_id: Ulid.optional(),
  tags: z.array(z.string().min(1).max(LIMITS.tag_length_max)).max(LIMITS.tags_max).default([]),
})
export const Artifact = z.object({ id: Ulid, ...ARTIFACT.shape })

/** Files and texts that agents produced and want to find again. */
export const ARTIFACT_KIND: RecordKind = {
  name: 'artifact',
  summary: 'File of the project or text that an agent produced.',
  keeper: 'project',
  fields: ARTIFACT,
  status: { initial: 'active', moves: { active: ['removed'] }, closing: { to: 'removed' } },
  examples: [{ name: 'load test of 2026-01-31', path: 'reports/load.md', tags: ['performance'] }],
}
export const ReadArtifactInput = z.strictObject({
  id: Ulid,
  max_bytes: z.number().int().min(1).max(LIMITS.artifact_bytes_max).default(LIMITS.artifact_bytes_default),
})
export type ReadArtifactInput = z.infer<typeof ReadArtifactInput>

export const RefreshInput = z.strictObject({
  scope: RecordScope.default(SCOPE_DEFAULT),
  max_tokens: Budget.default(LIMITS.brief_tokens_default),
})
export type RefreshInput = z.infer<typeof RefreshInput>
export const Brief = z.object({
  /** Markdown. */
  brief: z.string(),
  token_estimate: z.number().int(),
  /** Something did not fit; the end of the text lists it. */
  truncated: z.boolean(),
  sections: z.array(z.object({ title: z.string(), lines: z.number().int(), shown: z.number().int() })),
})
export type Brief = z.infer<typeof Brief>

export const PrimerInput = z.strictObject({
  /** Persona; the caller's own by default. Required for the operator. */
  agent_id: Identity.optional(),
})
export type PrimerInput = z.infer<typeof PrimerInput>
export const Primer = z
  .object({
    /** Plain text of a few lines, for the model. */
    text: z.string(),
    /** Upper bound of the tokens of `text`; at most `primer_tokens_max`. */
    token_bound: z.number().int(),
    /** Start of `text`: the agent's own name and its teammates. */
    who: z.string(),
  })
  .meta({ title: 'Primer' })
export type Primer = z.infer<typeof Primer>

export const AppendEventInput = z.strictObject({
  message: z.string().min(1).max(LIMITS.log_message_length_max),
  tags: z.array(z.string().min(1).max(LIMITS.tag_length_max)).max(LIMITS.tags_max).default([]),
  data: Json.optional(),
  agent_id: RecordAgent.optional(),
})
export type AppendEventInput = z.infer<typeof AppendEventInput>

export const SearchEventsInput = z.strictObject({
  /** Part of an event's text, ignoring case. */
  query: z.string().min(1).max(LIMITS.filter_text_length_max).optional(),
  /** Exact types, or prefixes that end with a dot; by default the type of events appended here. */
  types: z.array(z.string().min(1).max(64)).min(1).max(32).optional(),
  limit: z.number().int().min(1).max(LIMITS.history_limit_max).default(LIMITS.history_limit_default),
})
export type SearchEventsInput = z.infer<typeof SearchEventsInput>
