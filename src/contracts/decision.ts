/** Decisions as records: what was decided, why, and what else could have been. Those of every domain are of one kind. */
import { z } from 'zod'
import { Ulid } from './ids.ts'
import type { RecordKind } from './records.ts'

const Text = z.string().min(1).max(8_000)
const Line = z.string().min(1).max(1_024)
const Lines = z.array(Line).max(100).default([])

export const DecisionSummary = z.string().min(1).max(200)
/** `architecture`, `implementation`, `testing`, `dependency`, `api`, `data`, `design`, or a word of one's own. */
const DecisionDomain = z.string().min(1).max(64)
const Alternative = z.strictObject({
  option: z.string().min(1).max(500),
  pros: Lines,
  cons: Lines,
  reason_rejected: Text.optional(),
})

export const DECISION = {
  name: 'decision',
  summary: 'What was decided, why, and what was decided against.',
  keeper: 'project',
  fields: z.strictObject({
    domain: DecisionDomain,
    summary: DecisionSummary,
    /** What made a decision necessary. */
    context: Text.optional(),
    /** In full, where the summary does not say it. */
    decision: Text.optional(),
    rationale: Text.optional(),
    /** What follows from it, welcome or not. */
    consequences: Text.optional(),
    constraints: Lines,
    alternatives: z.array(Alternative).max(20).default([]),
    /** Ids of the decisions that this one rests on. */
    depends_on: z.array(Ulid).max(100).default([]),
    /** Id of the decision that this one takes the place of. */
    supersedes: Ulid.optional(),
    confidence: z.enum(['high', 'medium', 'low']).default('medium'),
    reversible: z.boolean().default(true),
    affected_files: Lines,
    affected_symbols: Lines,
  }),
  status: {
    initial: 'active',
    moves: {
      active: ['provisional', 'superseded', 'overridden'],
      provisional: ['active', 'superseded', 'overridden'],
    },
    closing: {
      to: 'overridden',
      fields: { override_reason: Text, overridden_by: z.string().min(1).max(128).optional() },
    },
  },
  examples: [
    {
      domain: 'implementation',
      summary: 'Parse by hand instead of with a generator',
      rationale: 'Error messages stay ours.',
      alternatives: [
        { option: 'A parser generator', reason_rejected: 'Its errors name tokens, not mistakes.' },
      ],
    },
  ],
} as const satisfies RecordKind
