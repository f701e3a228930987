/** Decisions: what was decided, why, and what else could have been. Those of every domain are of one kind. */
import * as z from 'zod'
import { Entry, MemorySummary, MemoryText } from './entry.ts'
import { Timestamp, Ulid } from './ids.ts'
import { LIMITS } from './limits.ts'
import { optionalFields } from './optional-fields.ts'
import { RANKING } from './ranking.ts'
import {
  RecordAgent,
  RecordScope,
  RecordTime,
  SCOPE_DEFAULT,
  toldAsRecord,
  type RecordKind,
} from './records.ts'

const Line = z.string().min(1).max(LIMITS.property_length_max)
const Lines = z.array(Line).max(LIMITS.decision_lines_max).default([])
const Reason = MemoryText.min(1)

/** `architecture`, `implementation`, `testing`, `dependency`, `api`, `data`, `design`, or a word of one's own. */
export const DecisionDomain = z.string().min(1).max(64)
export const Confidence = z.enum(['high', 'medium', 'low'])
export type Confidence = z.infer<typeof Confidence>
export const DecisionStatus = z.enum(['active', 'provisional', 'superseded', 'overridden'])
export type DecisionStatus = z.infer<typeof DecisionStatus>

/** What was decided against. An alternative without the reason is none: the next one would try it again. */
export const Alternative = z.strictObject({
  option: z.string().min(1).max(500),
  pros: Lines,
  cons: Lines,
  reason_rejected: Reason,
})

/** What a decision is made of beside what it is about. */
const GIVEN = {
  domain: DecisionDomain,
  scope: RecordScope,
  summary: MemorySummary,
  /** What made a decision necessary. */
  context: Reason,
  rationale: Reason,
  constraints: Lines,
  alternatives: z.array(Alternative).max(LIMITS.alternatives_max).default([]),
  /** Ids of the decisions that this one rests on. */
  depends_on: z.array(Ulid).max(LIMITS.relates_max).default([]),
  /** Id of the decision that this one takes the place of. */
  supersedes: Ulid.optional(),
  confidence: Confidence.default('medium'),
  reversible: z.boolean().default(true),
  affected_files: Lines,
  affected_symbols: Lines,
}

export const DecideInput = z.strictObject({
  ...GIVEN,
  agent_id: RecordAgent.optional(),
  /** Commits that carried it out. */
  commit_hashes: z
    .array(z.string().regex(/^[0-9a-f]{7,64}$/, 'a commit is named by its hash'))
    .max(LIMITS.decision_lines_max)
    .default([]),
})
export type DecideInput = z.infer<typeof DecideInput>

/**
 * An entry that is to be posted. One that `settles` refers to open warnings of the decision: to all, or but for those of
 * others that contradict it; `all_if_any` is not posted where there are none.
 */
const Owed = Entry.extend({ settles: z.enum(['all', 'own', 'all_if_any']).optional() })
export type Owed = z.infer<typeof Owed>

/** `agent_id` says so. */
const TakesBack = z.object({ reason: z.string(), overridden_by: z.string(), agent_id: z.string() })

/**
 * A decision as it is kept. Somebody may have written or merged it by hand: what can be filled in is, and fields
 * that it does not know are kept as well.
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
    /** In full, where the summary does not say it. */
    decision: z.string().optional(),
    /** What follows from it, welcome or not. */
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
    /** The one that took its place. */
    superseded_by: z.string().optional(),
    /** When it was last doubted, overridden or taken the place of. */
    reconsidered_at: Timestamp.optional(),
    overridden_at: Timestamp.optional(),
    superseded_at: Timestamp.optional(),
    updated_at: Timestamp.optional(),
    /** The entry of the blackboard that tells of it. */
    entry_id: Ulid.optional(),
    /** Its author wanted it to be no more than provisional. */
    proposed: z.boolean().optional(),
    /** What it contradicts, the entries that warn of it, and whether somebody has let it stand beside that. */
    conflicts: z
      .array(z.object({ decision_id: z.string(), warning_id: Ulid, weighed: z.boolean().optional() }))
      .optional(),
    /** What it was before somebody doubted it. */
    doubted_from: DecisionStatus.optional(),
    /** What the blackboard is still to be told of it, whether the graph is, and why what it supersedes is to be overridden. */
    outbox: z
      .object({ entries: z.array(Owed), graph: z.boolean(), takes_back: TakesBack.optional() })
      .optional()
      .catch(undefined),
  })
  .meta({ title: 'Decision' })
export type Decision = z.infer<typeof Decision>

/** An active decision on the same matter that says something else. */
export const Conflict = z
  .object({ decision_id: Ulid, summary: z.string(), rationale: z.string(), warning_id: Ulid })
  .meta({ title: 'Conflict' })
export type Conflict = z.infer<typeof Conflict>

export const Decided = z.object({
  id: Ulid,
  timestamp: Timestamp,
  /** `provisional` where it contradicts another one. */
  status: DecisionStatus,
  conflicts: z.array(Conflict),
})
export type Decided = z.infer<typeof Decided>

/** A decision among others. */
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
  /** Newest first, those that hold no more included, each with what was decided against and why. */
  decisions: z.array(
    DecisionLine.extend({
      alternatives: z.array(z.object({ option: z.string(), reason_rejected: z.string().optional() })),
    }),
  ),
  active_count: z.number().int(),
  provisional_count: z.number().int(),
  /** How many there are; the oldest are left out where they are too many. */
  total_count: z.number().int(),
})
export type WhyAnswer = z.infer<typeof WhyAnswer>

export const TraceDirection = z.enum(['upstream', 'downstream', 'both'])
export type TraceDirection = z.infer<typeof TraceDirection>
/** The decisions that one rests on, and that rest on it, nearest first; it is none of them. */
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
  told: toldAsRecord('decision'),
  summary: 'What was decided, why, and what was decided against.',
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
  /** Upstream is what it rests on, downstream what rests on it. */
  direction: TraceDirection.default('both'),
})
export type TraceDecisionInput = z.infer<typeof TraceDecisionInput>

export const ReconsiderInput = z.strictObject({
  decision_id: Ulid,
  /** What has come to light since. */
  new_context: Reason,
  /** It was in doubt, and holds: active again, and what warned of it is answered. */
  stands: z.boolean().optional(),
  agent_id: RecordAgent.optional(),
})
export type ReconsiderInput = z.infer<typeof ReconsiderInput>
export const Reconsidered = z.object({
  /** False where it is not in doubt, or holds no more anyway. */
  flagged: z.boolean(),
  decision_summary: z.string(),
  status: DecisionStatus,
  /** The entry that tells the others. */
  warning_id: Ulid.optional(),
})
export type Reconsidered = z.infer<typeof Reconsidered>

export const OverrideInput = z.strictObject({
  decision_id: Ulid,
  reason: Reason,
  /** What holds instead: its summary, or more of it. What is not told is as it was, but for reason and alternatives. */
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
  /** False where what holds instead is kept, and this could not be changed yet: it will be, once it can. */
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
  /** Part of anything that it says, in upper or lower case. */
  text: z.string().min(1).max(LIMITS.filter_text_length_max).optional(),
  /** A commit that carried them out, by the whole of its hash or the beginning. */
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
