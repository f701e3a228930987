/** Facts that a run consists of. They stand in the one event stream, with the run they belong to as `run_id`. */
import * as z from 'zod'
import { Json } from './ids.ts'
import { AgentName, RunId } from './runs.ts'

const Text = z.string().min(1)
/** What a fact of this type says at least; it may say more. */
const fact = <T extends string, S extends z.ZodRawShape>(type: T, fields: S) =>
  z.object({ type: z.literal(type), data: z.looseObject(fields) })

/** What agents agree on among themselves. */
export const OwnRunEventType = z
  .string()
  .max(64)
  .regex(
    /^x(\.[a-z][a-z_]*)+$/,
    'a type of your own begins with x. and goes on in lower case: x.deploy.started',
  )

/**
 * In an event of a delegation, `run_id` in what is told is the run at the other end: the stream's own
 * `run_id` says whose fact it is.
 */
export const KnownRunEvent = z.discriminatedUnion('type', [
  fact('delegation_sent', { target_agent: AgentName, task: Text, run_id: RunId }),
  fact('delegation_received', { source_agent: AgentName, task: Text, run_id: RunId }),
  fact('delegation_completed', { source_run_id: RunId, result_summary: z.string() }),
  fact('run_created', { prompt: Text }),
  fact('run_completed', { success: z.boolean() }),
  fact('checkpoint_set', { summary: Text }),
  fact('assumption_made', { text: Text }),
  fact('assumption_held', { text: Text }),
  fact('assumption_broken', { text: Text }),
  fact('plan_made', { summary: Text }),
  fact('decision_made', { summary: Text }),
  fact('question_asked', { question: Text }),
  fact('command_ran', { command: Text }),
  fact('file_changed', { path: Text }),
  fact('tests_ran', { passed: z.boolean() }),
  fact('went_back', { reason: Text }),
  fact('was_corrected', { by: Text }),
  fact('problem_met', { message: Text }),
  fact('note_made', { text: Text }),
])

export const RunEvent = z.union([
  KnownRunEvent,
  z.object({ type: OwnRunEventType, data: z.record(z.string(), Json).optional() }),
])
export type RunEvent = z.infer<typeof RunEvent>

export const KNOWN_RUN_EVENTS: readonly string[] = KnownRunEvent.options.map(({ shape }) => shape.type.value)

/** Whether an event of the stream is a fact of a run, and no call that was made in one. */
export function isRunEvent(type: string): boolean {
  return KNOWN_RUN_EVENTS.includes(type) || OwnRunEventType.safeParse(type).success
}

export const LogEventInput = z.strictObject({
  run_id: RunId,
  type: z.union([z.enum(KNOWN_RUN_EVENTS as [string, ...string[]]), OwnRunEventType]),
  data: z.record(z.string(), Json).optional(),
})
export type LogEventInput = z.infer<typeof LogEventInput>
