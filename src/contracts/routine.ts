/** Routines: steps that are done in their order, and the report of what became of them. */
import * as z from 'zod'
import { Problem } from './errors.ts'
import { Json, Timestamp, Ulid } from './ids.ts'
import { LIMITS } from './limits.ts'
import { literalSecrets, UNSAID } from './step-secrets.ts'

/** Without dots, which part it from the path in its result. */
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

/** A program and its arguments. No shell: every entry arrives as it is. */
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
  /** Its type and its place, `call_1`, where nothing is said. */
  id: StepId.optional(),
  step: StepTypeName,
  /**
   * What its type wants. Instead of any value in it: `{"$from": "<step id>.<path in its result>"}`, with a
   * `default` for a path that is not there; or `{"$param": "name"}`.
   */
  with: z.record(z.string(), Json).optional(),
  /** Steps before it that must have succeeded. */
  needs: z.array(StepId).max(LIMITS.routine_steps_max).optional(),
  /** Should it fail, the rest is left out. */
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
        context.addIssue({ code: 'custom', path: [at, ...path], message, params: UNSAID })
      }
      before.add(step.id)
    }
  })
export type RoutineSteps = z.infer<typeof RoutineSteps>

/** With its place behind it still an id. */
const STEP_ID_WORD_MAX = 60

export function withIds(steps: readonly RoutineStep[]): (RoutineStep & { id: string })[] {
  return steps.map((step, at) => ({
    ...step,
    id: step.id ?? `${step.step.slice(0, STEP_ID_WORD_MAX)}_${at + 1}`,
  }))
}

export const RoutineParam = z.strictObject({
  summary: z.string().min(1).max(200).optional(),
  /** One without it has to be given. */
  default: Json.optional(),
})
export const RoutineParams = z.record(ParamName, RoutineParam)

export const Routine = z.strictObject({
  summary: z.string().min(1).max(200).optional(),
  params: RoutineParams.optional(),
  steps: RoutineSteps,
})
export type Routine = z.infer<typeof Routine>

/** What is given for parameters. */
export const GivenParams = z.record(z.string().min(1).max(64), Json)
export type GivenParams = z.infer<typeof GivenParams>

/** `planned`: it would change something, or waits for something that would; a dry run leaves it at that. */
export const StepStatus = z.enum(['ok', 'failed', 'skipped', 'planned'])

export const ReportStep = z.object({
  id: StepId,
  step: z.string(),
  status: StepStatus,
  duration_ms: z.number(),
  result: Json.optional(),
  /** The result is the beginning of its JSON text. */
  result_cut: z.literal(true).optional(),
  problem: Problem.optional(),
  /** Of a step that was left out: which step before it is to blame. */
  because: StepId.optional(),
})
export type ReportStep = z.infer<typeof ReportStep>

export const Report = z.object({
  /** Null where it is not kept. */
  report_id: Ulid.nullable(),
  /** Null where the steps came with the call. */
  routine: z.string().nullable(),
  /** Grows by one with every report that is kept; a clock orders nothing. */
  generation: z.number().int().min(1).nullable(),
  /** For whom it ran. */
  identity: z.string(),
  dry_run: z.boolean(),
  /** Nothing failed. */
  ok: z.boolean(),
  started_at: Timestamp,
  duration_ms: z.number(),
  failures: z.number().int(),
  steps: z.array(ReportStep),
  /** Why it could not be kept. */
  unkept: Problem.optional(),
})
export type Report = z.infer<typeof Report>

export const KeptReport = Report.extend({ report_id: Ulid, generation: z.number().int().min(1) })
export type KeptReport = z.infer<typeof KeptReport>

const BenchRun = z.object({
  duration_ms: z.number(),
  /** Null where it was ended from outside. */
  exit_code: z.number().int().nullable(),
})
export type BenchRun = z.infer<typeof BenchRun>
const Figure = z.number().nullable()
export const BenchAnswer = z.object({
  /** In their order. */
  runs: z.array(BenchRun),
  /** All three are null where no run came to its end. */
  min_ms: Figure,
  median_ms: Figure,
  max_ms: Figure,
  /** There was no time for all of the runs. */
  timed_out: z.boolean(),
  /** How the first one ended that failed; null where none did. */
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
  /** Null where it depends on what the step is given. */
  mutates: z.boolean().nullable(),
  leash: z.enum(['exec', 'network']).nullable(),
  input_schema: z.record(z.string(), Json),
})
export type StepTypeLine = z.infer<typeof StepTypeLine>

/** Commands that say whether the project can be shipped, and that ship it. */
const Command = z.array(z.string().min(1)).min(1)
export const WorkflowSettings = z.strictObject({
  preflight: z.array(Command).max(LIMITS.workflow_commands_max).default([]),
  ship: z.array(Command).max(LIMITS.workflow_commands_max).default([]),
})
export type WorkflowSettings = z.infer<typeof WorkflowSettings>

export const WorkflowCheck = z.object({
  name: z.string(),
  /** Null where there is nothing to check, or a dry run did not. */
  ok: z.boolean().nullable(),
  detail: z.string(),
})
export type WorkflowCheck = z.infer<typeof WorkflowCheck>
