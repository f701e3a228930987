/** Runs: the task of an agent, its checkpoints, delegations and outcome. */
import * as z from 'zod'
import { Identity, Json, Timestamp, Ulid } from '../ids.ts'
import { LIMITS } from '../limits/limits.ts'

export const RunId = Ulid
export const Prompt = z.string().min(1).max(LIMITS.prompt_length_max)
/** Declared by the caller: subagents of a persona have their own names. */
export const AgentName = z.string().min(1).max(128)
const Summary = z.string().min(1).max(LIMITS.run_summary_length_max)

/** The other end of a delegation. */
export const RunRef = z.object({ agent_id: AgentName, run_id: RunId })
export type RunRef = z.infer<typeof RunRef>

/** Author of a checkpoint; absent in records of older versions. */
const author = {
  /** Declared by the caller. */
  agent_id: AgentName.optional(),
  /** Persona of the token, if it is a different one. */
  identity: Identity.optional(),
}

export const Checkpoint = z.object({
  at: Timestamp,
  ...author,
  summary: z.string(),
  data: Json.optional(),
})
export type Checkpoint = z.infer<typeof Checkpoint>

/** `open` until it is known whether the assumption holds. */
export const AssumptionStatus = z.enum(['open', 'held', 'broken'])
export const Assumption = z.object({ text: z.string(), status: AssumptionStatus })
export type Assumption = z.infer<typeof Assumption>

export const Outcome = z.object({
  success: z.boolean(),
  summary: z.string().optional(),
  data: Json.optional(),
})
export type Outcome = z.infer<typeof Outcome>

export const RunStatus = z.enum(['open', 'completed'])
export type RunStatus = z.infer<typeof RunStatus>

/** Fields with a default are missing in records of older versions. */
export const Run = z
  .object({
    run_id: RunId,
    prompt: z.string(),
    agent_id: AgentName,
    status: RunStatus,
    created_at: Timestamp,
    completed_at: Timestamp.nullable().default(null),
    delegated_by: RunRef.optional(),
    delegated_to: z.array(RunRef).default([]),
    checkpoints: z.array(Checkpoint).default([]),
    /** Number of older checkpoints that only the event stream still has. */
    checkpoints_dropped: z.number().int().default(0),
    assumptions: z.array(Assumption).default([]),
    outcome: Outcome.optional(),
  })
  .meta({ title: 'Run' })
export type Run = z.infer<typeof Run>

/** Run in lists. */
export const RunSummary = Run.pick({
  run_id: true,
  agent_id: true,
  status: true,
  created_at: true,
  completed_at: true,
  delegated_by: true,
  outcome: true,
})
  .extend({
    /** Truncated. */
    prompt: z.string(),
    delegated: z.number().int(),
    checkpoints: z.number().int(),
    assumptions: z.object({ open: z.number().int(), held: z.number().int(), broken: z.number().int() }),
  })
  .meta({ title: 'RunSummary' })
export type RunSummary = z.infer<typeof RunSummary>

export const CreateRunInput = z.strictObject({
  prompt: Prompt,
  /** The parent run and its agent. */
  delegated_by: z.strictObject({ agent_id: AgentName, run_id: RunId }).optional(),
  assumptions: z
    .array(z.string().min(1).max(LIMITS.assumption_length_max))
    .max(LIMITS.run_assumptions_max)
    .default([]),
})
export type CreateRunInput = z.infer<typeof CreateRunInput>

export const ReadRunInput = z.strictObject({
  run_id: RunId,
  /** Number of the newest events to return. */
  events: z.number().int().min(0).max(LIMITS.run_events_max).default(0),
})
export type ReadRunInput = z.infer<typeof ReadRunInput>

export const ListRunsInput = z.strictObject({
  status: RunStatus.optional(),
  agent_id: AgentName.optional(),
  /** Runs older than this one: the `next` of the previous page. */
  before: RunId.optional(),
  limit: z.number().int().min(1).max(LIMITS.runs_page_max).default(LIMITS.runs_page_default),
})
export type ListRunsInput = z.infer<typeof ListRunsInput>
export const RunPage = z.object({ runs: z.array(RunSummary), next: RunId.nullable() })
export type RunPage = z.infer<typeof RunPage>

export const CompleteRunInput = z.strictObject({
  run_id: RunId,
  success: z.boolean().default(true),
  summary: Summary.optional(),
  data: Json.optional(),
})
export type CompleteRunInput = z.infer<typeof CompleteRunInput>

export const CheckpointInput = z.strictObject({ run_id: RunId, summary: Summary, data: Json.optional() })
export type CheckpointInput = z.infer<typeof CheckpointInput>

/** By its text, or by its number in the list, starting at 1. */
const AssumptionRef = z.union([z.number().int().min(1), z.string().min(1).max(LIMITS.assumption_length_max)])
const Assumptions = z.array(AssumptionRef).max(LIMITS.run_assumptions_max).default([])
export const AssumptionsInput = z.strictObject({
  run_id: RunId,
  add: CreateRunInput.shape.assumptions,
  hold: Assumptions,
  break: Assumptions,
})
export type AssumptionsInput = z.infer<typeof AssumptionsInput>
export const AssumptionsAnswer = z.object({
  run_id: RunId,
  assumptions: z.array(Assumption.extend({ number: z.number().int() })),
  /** Share of broken assumptions, 0 to 1. */
  drift: z.number(),
})
export type AssumptionsAnswer = z.infer<typeof AssumptionsAnswer>

export const TraceInput = z.strictObject({
  run_id: RunId,
  /** Number of generations below the run. */
  depth: z.number().int().min(0).max(LIMITS.trace_depth_max).default(LIMITS.trace_depth_default),
})
export type TraceInput = z.infer<typeof TraceInput>

/** A referenced run that does not exist, or a run that is its own ancestor. */
const Missing = z.object({ run_id: RunId, missing: z.literal(true) })
const Repeated = z.object({ run_id: RunId, repeated: z.literal(true) })
export const TracedRun = z.union([RunSummary, Missing, Repeated])
export type TracedRun = z.infer<typeof TracedRun>
export interface TraceNode {
  run: TracedRun
  children: TraceNode[]
  /** Number of delegations not shown because of depth or number. */
  left_out?: number | undefined
}
export const TraceNode: z.ZodType<TraceNode> = z
  .object({
    run: TracedRun,
    get children() {
      return z.array(TraceNode)
    },
    left_out: z.number().int().optional(),
  })
  .meta({ id: 'TraceNode' })
export const Trace = z.object({
  run: RunSummary,
  parent: TracedRun.optional(),
  children: z.array(TraceNode),
  left_out: z.number().int().optional(),
})
export type Trace = z.infer<typeof Trace>

/** Run event in the event stream. */
export const RunEventView = z.object({
  seq: z.number().int(),
  at: Timestamp,
  type: z.string(),
  agent_id: z.string(),
  /** Persona of the token, if it is a different one. */
  identity: Identity.optional(),
  data: z.record(z.string(), Json),
})
export type RunEventView = z.infer<typeof RunEventView>

export const ContextPackInput = z.strictObject({
  run_id: RunId,
  max_tokens: z
    .number()
    .int()
    .min(LIMITS.context_pack_tokens_min)
    .max(LIMITS.context_pack_tokens_max)
    .default(LIMITS.context_pack_tokens_default),
})
export type ContextPackInput = z.infer<typeof ContextPackInput>

/** All lists are ordered newest or nearest first. */
export const ContextPack = z.object({
  run_id: RunId,
  agent_id: z.string(),
  status: RunStatus,
  prompt: z.string(),
  outcome: z.object({ success: z.boolean(), summary: z.string().optional() }).optional(),
  assumptions: z.array(z.string()),
  checkpoints: z.array(Checkpoint),
  parents: z.array(
    z.union([
      z.object({
        run_id: RunId,
        agent_id: z.string(),
        status: RunStatus,
        prompt: z.string(),
        /** Its newest checkpoint. */
        checkpoint: z.string().optional(),
      }),
      Missing,
    ]),
  ),
  events: z.array(RunEventView.omit({ seq: true })),
  left_out: z.object({
    prompt_characters: z.number().int(),
    assumptions: z.number().int(),
    checkpoints: z.number().int(),
    parents: z.number().int(),
    events: z.number().int(),
  }),
  max_tokens: z.number().int(),
})
export type ContextPack = z.infer<typeof ContextPack>

export const PromptScore = z.object({
  /** 0 to 100. */
  score: z.number().int(),
  /** Parts of the score. */
  reasons: z.array(
    z.object({
      name: z.string(),
      points: z.number().int(),
      of: z.number().int(),
      /** Finding, or suggestion. */
      detail: z.string(),
    }),
  ),
})
export type PromptScore = z.infer<typeof PromptScore>
