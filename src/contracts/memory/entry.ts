/** Entries of the blackboard: findings, needs, questions and warnings of one agent for all others. */
import * as z from 'zod'
import { Timestamp, Ulid } from '../ids.ts'
import { LIMITS } from '../limits/limits.ts'
import { RecordAgent, RecordScope, SCOPE_DEFAULT, toRecordForm, type RecordKind } from './records.ts'

export const EntryType = z.enum([
  ...(['need', 'offer', 'finding', 'decision', 'constraint'] as const),
  ...(['question', 'answer', 'status', 'artifact', 'warning'] as const),
])
export type EntryType = z.infer<typeof EntryType>

export const MemorySummary = z.string().min(1).max(LIMITS.memory_summary_length_max)
export const MemoryText = z.string().max(LIMITS.memory_text_length_max)
export const EntryTags = z
  .array(z.string().min(1).max(LIMITS.tag_length_max))
  .max(LIMITS.tags_max)
  .default([])
/** Ids of entries or decisions. They are not checked, because they may be archived. */
export const RelatesTo = z.array(Ulid).max(LIMITS.relates_max)

/** Line of the blackboard. It may be written by hand: missing fields are filled in, and unknown fields are kept. */
export const Entry = z
  .looseObject({
    id: Ulid,
    timestamp: Timestamp,
    agent_id: RecordAgent.default('main'),
    entry_type: EntryType,
    tags: z.array(z.string()).default([]),
    relates_to: z.array(z.string()).optional(),
    /** A path, a module, a symbol, or `project`. */
    scope: RecordScope.default(SCOPE_DEFAULT),
    summary: z.string().min(1),
    detail: z.string().default(''),
  })
  .meta({ title: 'Entry' })
export type Entry = z.infer<typeof Entry>

/** Types of answers that resolve an entry: it is open until one of them refers to it. */
export const SETTLED_BY: Partial<Record<EntryType, readonly EntryType[]>> = {
  need: ['offer', 'answer', 'artifact', 'decision', 'finding'],
  question: ['answer', 'decision', 'finding'],
  warning: ['answer', 'decision'],
}

export const ENTRY_KIND: RecordKind = {
  name: 'entry',
  toRecord: toRecordForm('entry'),
  summary: 'Finding, need, question, warning or other entry of an agent.',
  keeper: 'project',
  changed_by: 'blackboard',
  fields: z.strictObject({
    entry_type: EntryType,
    tags: z.array(z.string()),
    relates_to: z.array(z.string()).optional(),
    summary: z.string(),
    detail: z.string(),
    timestamp: Timestamp,
  }),
}
