/** Decisions with their reasons and alternatives. All domains share one record kind. */
import * as z from 'zod'
import { Entry, MemorySummary, MemoryText } from './entry.ts'
import { Timestamp, Ulid } from '../ids.ts'
import { LIMITS } from '../limits/limits.ts'
import { optionalFields } from '../validation/partial-shape.ts'
import { RANKING } from '../text/ranking.ts'
import {
  RecordAgent,
  RecordScope,
  RecordTime,
  SCOPE_DEFAULT,
  toRecordForm,
  type RecordKind,
} from './records.ts'

const Line = z.string().min(1).max(LIMITS.property_length_max)
const Lines = z.array(Line).max(LIMITS.decision_lines_max).default([])
const Reason = MemoryText.min(1)

/** `architecture`, `implementation`, `testing`, `dependency`, `api`, `data`, `design`, or a custom word. */
export const DecisionDomain = z.string().min(1).max(64)
export const Confidence = z.enum(['high', 'medium', 'low'])
export type Confidence = z.infer<typeof Confidence>
export const DecisionStatus = z.enum(['active', 'provisional', 'superseded', 'overridden'])
export type DecisionStatus = z.infer<typeof DecisionStatus>

/** A rejected alternative. The reason is required; otherwise the next agent would try it again. */
export const Alternative = z.strictObject({
  option: z.string().min(1).max(500),
  pros: Lines,
  cons: Lines,
  reason_rejected: Reason,
})

/** Fields of a decision that its author provides. */
const AUTHOR_FIELDS = {
  domain: DecisionDomain,
  scope: RecordScope,
  summary: MemorySummary,
  /** Situation that made the decision necessary. */
  context: Reason,
  rationale: Reason,
  constraints: Lines,
  alternatives: z.array(Alternative).max(LIMITS.alternatives_max).default([]),
  /** Ids of the decisions that this one is based on. */
  depends_on: z.array(Ulid).max(LIMITS.relates_max).default([]),
  /** Id of the decision that this one replaces. */
  supersedes: Ulid.optional(),
  confidence: Confidence.default('medium'),
  reversible: z.boolean().default(true),
  affected_files: Lines,
  affected_symbols: Lines,
}

export const DecideInput = z.strictObject({
  ...AUTHOR_FIELDS,
  agent_id: RecordAgent.optional(),
  /** Commits that implemented it. */
  commit_hashes: z
    .array(z.string().regex(/^[0-9a-f]{7,64}$/, 'a commit is named by its hash'))
    .max(LIMITS.decision_lines_max)
    .default([]),
})
export type DecideInput = z.infer<typeof DecideInput>

/**
 * Outbox item: an entry to be posted. `settles` makes it refer to open warnings about the decision: `all` of them, or
 * `own`, those that are not about contradictions of others. `all_if_any` posts nothing if there are none.
 */
const OutboxEntry = Entry.extend({ settles: z.enum(['all', 'own', 'all_if_any']).optional() })
export type OutboxEntry = z.infer<typeof OutboxEntry>

/** Author of the override, if it is not `overridden_by`. */
const Override = z.object({ reason: z.string(), overridden_by: z.string(), agent_id: z.string() })

/**
 * A stored decision. It may be written or merged by hand: missing fields are filled in, and unknown fields are kept.
 */
export const Decision = z
  .looseObject({
    id: Ulid,
    timestamp: Timestamp,
    agent_id: RecordAgent.default('main'),
    domain: z.string().min(1),
    scope: RecordScope.default(SCOPE_DEFAULT),
    summary: z.string().min(1),
    context: z.string().default(''),
    rationale: z.string().default(''),
    /** Full text, if the summary is shorter. */
    decision: z.string().optional(),
    /** Positive and negative consequences. */
    consequences: z.string().optional(),
    constraints: z.array(z.string()).default([]),
    alternatives: z
      .array(
        z.looseObject({
          option: z.string(),
          pros: z.array(z.string()).default([]),
          cons: z.array(z.string()).default([]),
          reason_rejected: z.string().optional(),
        }),
      )
      .default([]),
    depends_on: z.array(z.string()).default([]),
    supersedes: z.string().optional(),
    confidence: Confidence.default('medium'),
    status: DecisionStatus.default('active'),
    reversible: z.boolean().default(true),
    affected_files: z.array(z.string()).default([]),
    affected_symbols: z.array(z.string()).default([]),
    commit_hashes: z.array(z.string()).default([]),
    overridden_by: z.string().optional(),
    override_reason: z.string().optional(),
    /** The decision that replaced it. */
    superseded_by: z.string().optional(),
    /** When it was last flagged, overridden or superseded. */
    reconsidered_at: Timestamp.optional(),
    overridden_at: Timestamp.optional(),
    superseded_at: Timestamp.optional(),
    updated_at: Timestamp.optional(),
    /** Entry on the blackboard that announces it. */
    entry_id: Ulid.optional(),
    /** The author declared it provisional. */
    proposed: z.boolean().optional(),
    /** Contradicted decisions, the entries that warn of them, and whether a person accepted the contradiction. */
    conflicts: z
      .array(z.object({ decision_id: z.string(), warning_id: Ulid, weighed: z.boolean().optional() }))
      .optional(),
    /** Status before it was flagged. */
    doubted_from: DecisionStatus.optional(),
    /**
     * Outbox: entries to be posted, whether the graph is to be updated, and the reason for overriding what it
     * supersedes.
     */
    outbox: z
      .object({ entries: z.array(OutboxEntry), graph: z.boolean(), takes_back: Override.optional() })
      .optional()
      .catch(undefined),
  })
  .meta({ title: 'Decision' })
export type Decision = z.infer<typeof Decision>

/** An active decision on the same subject that contradicts it. */
export const Conflict = z
  .object({ decision_id: Ulid, summary: z.string(), rationale: z.string(), warning_id: Ulid })
  .meta({ title: 'Conflict' })
export type Conflict = z.infer<typeof Conflict>

export const Decided = z.object({
  id: Ulid,
  timestamp: Timestamp,
  /** `provisional` if it contradicts another decision. */
  status: DecisionStatus,
  conflicts: z.array(Conflict),
})
export type Decided = z.infer<typeof Decided>

/** Decision in lists. */
export const DecisionLine = z
  .object({
    id: Ulid,
    timestamp: Timestamp,
    agent_id: z.string(),
    domain: z.string(),
    scope: z.string(),
    summary: z.string(),
    rationale: z.string(),
    confidence: Confidence,
    status: DecisionStatus,
    alternatives_count: z.number().int(),
    affected_files: z.array(z.string()),
    affected_symbols: z.array(z.string()),
    commit_hashes: z.array(z.string()),
  })
  .meta({ title: 'DecisionLine' })
export type DecisionLine = z.infer<typeof DecisionLine>

export const WhyAnswer = z.object({
  /** Newest first, including inactive ones, each with its rejected alternatives. */
  decisions: z.array(
    DecisionLine.extend({
      alternatives: z.array(z.object({ option: z.string(), reason_rejected: z.string().optional() })),
    }),
  ),
  active_count: z.number().int(),
  provisional_count: z.number().int(),
  /** Number of all matching decisions; if there are too many, the oldest are omitted. */
  total_count: z.number().int(),
})
export type WhyAnswer = z.infer<typeof WhyAnswer>

export const TraceDirection = z.enum(['upstream', 'downstream', 'both'])
export type TraceDirection = z.infer<typeof TraceDirection>
/** Decisions that one is based on and decisions based on it, nearest first, without itself. */
export const DecisionTrace = z.object({
  chain: z.array(
    z.object({
      id: Ulid,
      summary: z.string(),
      depends_on: z.array(z.string()),
      dependents: z.array(z.string()),
      status: DecisionStatus,
    }),
  ),
})
export type DecisionTrace = z.infer<typeof DecisionTrace>

export const DECISION_KIND: RecordKind = {
  name: 'decision',
  toRecord: toRecordForm('decision'),
  summary: 'Decision with its reasons and rejected alternatives.',
  keeper: 'project',
  changed_by: 'decisions',
  fields: z.strictObject({
    ...Decision.omit({ id: true, agent_id: true, scope: true, status: true, updated_at: true }).shape,
  }),
  status: {
    initial: 'active',
    moves: {
      active: ['provisional', 'superseded', 'overridden'],
      provisional: ['active', 'superseded', 'overridden'],
    },
  },
}

export const WhyInput = z.strictObject({
  /** A path, a module, a symbol. */
  scope: RecordScope,
  limit: z.number().int().min(1).max(LIMITS.decisions_page_max).default(LIMITS.decisions_page_default),
})
export type WhyInput = z.infer<typeof WhyInput>

export const TraceDecisionInput = z.strictObject({
  decision_id: Ulid,
  /** Upstream: what it is based on. Downstream: what is based on it. */
  direction: TraceDirection.default('both'),
})
export type TraceDecisionInput = z.infer<typeof TraceDecisionInput>

export const ReconsiderInput = z.strictObject({
  decision_id: Ulid,
  /** New information. */
  new_context: Reason,
  /** The flagged decision is confirmed: it is active again and its warnings are answered. */
  stands: z.boolean().optional(),
  agent_id: RecordAgent.optional(),
})
export type ReconsiderInput = z.infer<typeof ReconsiderInput>
export const Reconsidered = z.object({
  /** False if it is not flagged, or no longer valid. */
  flagged: z.boolean(),
  decision_summary: z.string(),
  status: DecisionStatus,
  /** Entry that informs others. */
  warning_id: Ulid.optional(),
})
export type Reconsidered = z.infer<typeof Reconsidered>

export const OverrideInput = z.strictObject({
  decision_id: Ulid,
  reason: Reason,
  /** Replacement: its summary, or more fields. Missing fields are copied, except for reason and alternatives. */
  new_decision: z
    .union([
      MemorySummary,
      z.strictObject({
        ...optionalFields(DecideInput.omit({ supersedes: true }).shape),
        summary: MemorySummary,
      }),
    ])
    .optional(),
  overridden_by: RecordAgent.default('human'),
})
export type OverrideInput = z.infer<typeof OverrideInput>
export const Overridden = z.object({
  /** False if the replacement is stored, and this decision could not be updated yet; it is retried. */
  overridden: z.boolean(),
  old_summary: z.string(),
  new_decision_id: Ulid.optional(),
})
export type Overridden = z.infer<typeof Overridden>

const CommitHash = z.string().regex(/^[0-9a-f]{7,64}$/, 'a commit is named by its hash')

export const ListDecisionsInput = z.strictObject({
  status: DecisionStatus.optional(),
  domain: DecisionDomain.optional(),
  scope: RecordScope.optional(),
  confidence: Confidence.optional(),
  agent_id: RecordAgent.optional(),
  since: RecordTime.optional(),
  /** Part of any of its texts, ignoring case. */
  text: z.string().min(1).max(LIMITS.filter_text_length_max).optional(),
  /** Hash, or prefix of a hash, of a commit that implemented it. */
  commit_hash: CommitHash.optional(),
  limit: WhyInput.shape.limit,
})
export type ListDecisionsInput = z.infer<typeof ListDecisionsInput>
/** Newest first. */
export const DecisionList = z.object({
  decisions: z.array(DecisionLine),
  total_count: z.number().int(),
})
export type DecisionList = z.infer<typeof DecisionList>

export const SearchDecisionsInput = z.strictObject({
  query: z.string().min(1).max(LIMITS.query_length_max),
  status: DecisionStatus.optional(),
  domain: DecisionDomain.optional(),
  limit: z.number().int().min(1).max(LIMITS.memory_results_max).default(LIMITS.search_results_default),
})
export type SearchDecisionsInput = z.infer<typeof SearchDecisionsInput>
export const SearchDecisionsAnswer = z.object({
  results: z.array(z.object({ decision: DecisionLine, relevance: z.number() })),
  ...RANKING,
})
export type SearchDecisionsAnswer = z.infer<typeof SearchDecisionsAnswer>

export const LinkCommitInput = z.strictObject({
  decision_id: Ulid,
  commit_hash: CommitHash,
})
export type LinkCommitInput = z.infer<typeof LinkCommitInput>
export const CommitLinked = z.object({ decision_id: Ulid, commit_hashes: z.array(z.string()) })
