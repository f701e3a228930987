/** Entries of the blackboard: what one agent found out, needs, asks or warns of, for all the others. */
import * as z from 'zod'
import { Timestamp, Ulid } from './ids.ts'
import { LIMITS } from './limits.ts'
import { RecordAgent, RecordScope, SCOPE_DEFAULT, toldAsRecord, type RecordKind } from './records.ts'

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
/** Ids of entries or decisions. Whether these are there is not looked at: they may be archived. */
export const RelatesTo = z.array(Ulid).max(LIMITS.relates_max)

/**
 * A line of the blackboard. Somebody may have written it by hand, so what can be filled in is; fields that it
 * does not know are kept as well.
 */
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

/** Answers that settle what is asked for: an entry of the first kind stays open until one of these refers to it. */
export const SETTLED_BY: Partial<Record<EntryType, readonly EntryType[]>> = {
  need: ['offer', 'answer', 'artifact', 'decision', 'finding'],
  question: ['answer', 'decision', 'finding'],
  warning: ['answer', 'decision'],
}

export const ENTRY_KIND: RecordKind = {
  name: 'entry',
  told: toldAsRecord('entry'),
  summary: 'What an agent found out, needs, asks or warns of.',
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
