/** Events of a run. They are part of the event stream, with the run as `run_id`. */
import * as z from 'zod'
import { Json } from '../ids.ts'
import { AgentName, RunId } from './runs.ts'

const Text = z.string().min(1)
/** Required data of an event type; more fields are allowed. */
const fact = <T extends string, S extends z.ZodRawShape>(type: T, fields: S) =>
  z.object({ type: z.literal(type), data: z.looseObject(fields) })

/** Event types that agents define themselves. */
export const OwnRunEventType = z
  .string()
  .max(64)
  .regex(
    /^x(\.[a-z][a-z_]*)+$/,
    'a type of your own begins with x. and goes on in lower case: x.deploy.started',
  )

/**
 * In the data of a delegation event, `run_id` is the run at the other end; the `run_id` of the stream is the run that
 * the event belongs to.
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

/** Whether an event of the stream is a run event, rather than a call made in a run. */
export function isRunEvent(type: string): boolean {
  return KNOWN_RUN_EVENTS.includes(type) || OwnRunEventType.safeParse(type).success
}

export const LogEventInput = z.strictObject({
  run_id: RunId,
  type: z.union([z.enum(KNOWN_RUN_EVENTS as [string, ...string[]]), OwnRunEventType]),
  data: z.record(z.string(), Json).optional(),
})
export type LogEventInput = z.infer<typeof LogEventInput>
