/** Routines: ordered steps, and the report of their results. */
import * as z from 'zod'
import { Problem } from '../errors/errors.ts'
import { Json, Timestamp, Ulid } from '../ids.ts'
import { LIMITS } from '../limits/limits.ts'
import { literalSecrets, REDACTED } from './step-secrets.ts'

/** Without dots, which separate it from the path in its result. */
export const StepId = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'an id of a step matches [A-Za-z][A-Za-z0-9_-]{0,63}')
export const StepTypeName = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'a type of step is lower_case words')
export const RoutineName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'the name of a routine matches [a-z][a-z0-9_-]{0,63}')
const ParamName = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'a parameter is lower_case words')

const Argument = z
  .string()
  .max(LIMITS.program_argument_length_max)
  .refine((text) => !text.includes('\0'), 'a text without NUL')

/** Program and arguments, run without a shell. */
export const ProgramArgv = z
  .array(Argument)
  .min(1)
  .max(LIMITS.program_arguments_max)
  .refine(([program]) => program !== '', 'a program as its first entry')

/** A directory of the project. */
export const ProgramDirectory = z
  .string()
  .min(1)
  .max(4_096)
  .refine((text) => !text.includes('\0'), 'a path without NUL')
  .default('.')

export const RoutineStep = z.strictObject({
  /** Default: its type and position, such as `call_1`. */
  id: StepId.optional(),
  step: StepTypeName,
  /**
   * Parameters of its type. Any value can be a reference: `{"$from": "<step id>.<path in its result>"}`, with a
   * `default` for a missing path, or `{"$param": "name"}`.
   */
  with: z.record(z.string(), Json).optional(),
  /** Earlier steps that must have succeeded. */
  needs: z.array(StepId).max(LIMITS.routine_steps_max).optional(),
  /** If it fails, the remaining steps are skipped. */
  required: z.boolean().optional(),
})
export type RoutineStep = z.infer<typeof RoutineStep>

export const RoutineSteps = z
  .array(RoutineStep)
  .min(1)
  .max(LIMITS.routine_steps_max)
  .superRefine((steps, context) => {
    const before = new Set<string>()
    for (const [at, step] of withIds(steps).entries()) {
      const issue = (path: string, message: string) =>
        context.addIssue({ code: 'custom', path: [at, path], message })
      if (before.has(step.id)) issue('id', 'an id that no step before it has')
      for (const id of step.needs ?? []) if (!before.has(id)) issue('needs', 'ids of steps before it')
      for (const { path, message } of literalSecrets(step)) {
        context.addIssue({ code: 'custom', path: [at, ...path], message, params: REDACTED })
      }
      before.add(step.id)
    }
  })
export type RoutineSteps = z.infer<typeof RoutineSteps>

/** Leaves space for the position at the end of the id. */
const STEP_ID_WORD_MAX = 60

export function withIds(steps: readonly RoutineStep[]): (RoutineStep & { id: string })[] {
  return steps.map((step, at) => ({
    ...step,
    id: step.id ?? `${step.step.slice(0, STEP_ID_WORD_MAX)}_${at + 1}`,
  }))
}

export const RoutineParam = z.strictObject({
  summary: z.string().min(1).max(200).optional(),
  /** A parameter without a default is required. */
  default: Json.optional(),
})
export const RoutineParams = z.record(ParamName, RoutineParam)

export const Routine = z.strictObject({
  summary: z.string().min(1).max(200).optional(),
  params: RoutineParams.optional(),
  steps: RoutineSteps,
})
export type Routine = z.infer<typeof Routine>

/** Values of the parameters. */
export const GivenParams = z.record(z.string().min(1).max(64), Json)
export type GivenParams = z.infer<typeof GivenParams>

/** `planned`: in a dry run, the step would change something, or depends on one that would. */
export const StepStatus = z.enum(['ok', 'failed', 'skipped', 'planned'])

export const ReportStep = z.object({
  id: StepId,
  step: z.string(),
  status: StepStatus,
  duration_ms: z.number(),
  result: Json.optional(),
  /** The result is the truncated JSON text. */
  result_cut: z.literal(true).optional(),
  problem: Problem.optional(),
  /** The step that caused a skipped step. */
  because: StepId.optional(),
})
export type ReportStep = z.infer<typeof ReportStep>

export const Report = z.object({
  /** Null if the report is not stored. */
  report_id: Ulid.nullable(),
  /** Null if the steps were part of the call. */
  routine: z.string().nullable(),
  /** Increases with every stored report, and orders them. */
  generation: z.number().int().min(1).nullable(),
  /** Caller. */
  identity: z.string(),
  dry_run: z.boolean(),
  /** No step failed. */
  ok: z.boolean(),
  started_at: Timestamp,
  duration_ms: z.number(),
  failures: z.number().int(),
  steps: z.array(ReportStep),
  /** Reason why the report could not be stored. */
  unkept: Problem.optional(),
})
export type Report = z.infer<typeof Report>

export const KeptReport = Report.extend({ report_id: Ulid, generation: z.number().int().min(1) })
export type KeptReport = z.infer<typeof KeptReport>

const BenchRun = z.object({
  duration_ms: z.number(),
  /** Null if it was killed. */
  exit_code: z.number().int().nullable(),
})
export type BenchRun = z.infer<typeof BenchRun>
const Figure = z.number().nullable()
export const BenchAnswer = z.object({
  /** In the order of execution. */
  runs: z.array(BenchRun),
  /** All three are null if no run finished. */
  min_ms: Figure,
  median_ms: Figure,
  max_ms: Figure,
  /** The time was too short for all runs. */
  timed_out: z.boolean(),
  /** The first failed run; null if none failed. */
  failed: z
    .object({ exit_code: z.number().int().nullable(), stdout: z.string(), stderr: z.string() })
    .nullable(),
})
export type BenchAnswer = z.infer<typeof BenchAnswer>

export const RoutineLine = z.object({
  name: RoutineName,
  summary: z.string().nullable(),
  params: RoutineParams,
  steps: z.number().int(),
})
export type RoutineLine = z.infer<typeof RoutineLine>

export const StepTypeLine = z.object({
  name: StepTypeName,
  summary: z.string(),
  /** Null if it depends on the parameters. */
  mutates: z.boolean().nullable(),
  leash: z.enum(['exec', 'network']).nullable(),
  input_schema: z.record(z.string(), Json),
})
export type StepTypeLine = z.infer<typeof StepTypeLine>

/** Commands that check whether the project can be shipped, and that ship it. */
const Command = z.array(z.string().min(1)).min(1)
export const WorkflowSettings = z.strictObject({
  preflight: z.array(Command).max(LIMITS.workflow_commands_max).default([]),
  ship: z.array(Command).max(LIMITS.workflow_commands_max).default([]),
})
export type WorkflowSettings = z.infer<typeof WorkflowSettings>

export const WorkflowCheck = z.object({
  name: z.string(),
  /** Null if there is nothing to check, or in a dry run. */
  ok: z.boolean().nullable(),
  detail: z.string(),
})
export type WorkflowCheck = z.infer<typeof WorkflowCheck>
