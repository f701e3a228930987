/** Publishes the events of runs in the event stream, and reads those of one run. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { HubEvent } from '../../contracts/events.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import { isRunEvent, KNOWN_RUN_EVENTS, KnownRunEvent, RunEvent } from '../../contracts/runs/run-events.ts'
import type { RunEventView } from '../../contracts/runs/runs.ts'
import type { EventLog } from '../../ports/event-log.ts'
import { checkEventData } from '../lib/event-data.ts'

/** The run of an event, and its author. */
export interface RunAuthor {
  run_id: string
  /** The name that the caller gives. */
  agent_id: string
  /** The real caller. */
  identity: string
}

/** Field of the other run of a delegation, because `run_id` is the run of the event. */
const OTHER_RUN_FIELD: Record<string, string> = {
  delegation_sent: 'target_run_id',
  delegation_received: 'source_run_id',
}

/** Throws `params_invalid` for an event that does not match its schema. */
export function publishRunEvent(
  events: Pick<EventLog, 'append'>,
  { run_id, agent_id, identity }: RunAuthor,
  type: string,
  data: Record<string, Json> = {},
): HubEvent {
  checkEventData(data)
  const given = { type, data }
  const schema = KNOWN_RUN_EVENTS.includes(type) ? KnownRunEvent : RunEvent
  const parsed = schema.safeParse(given)
  if (!parsed.success) throw invalidEvent(type, describeParams(schema, given, parsed.error), parsed.error)
  const { run_id: other, ...rest } = data
  const field = OTHER_RUN_FIELD[type]
  const fields = field === undefined || other === undefined ? rest : { ...rest, [field]: other }
  return events.append({ type, agent_id: identity, data: { ...fields, run_id, agent_id } })
}

/** Returns the newest events of a run, oldest first, without the calls made in the run. */
export function eventsOfRun(events: Pick<EventLog, 'read'>, run_id: string, limit: number): RunEventView[] {
  if (limit === 0) return []
  const { events: all } = events.read({ run_id, limit: LIMITS.event_log_events_max })
  return all
    .filter(({ type }) => isRunEvent(type))
    .slice(-limit)
    .map(viewOf)
}

function viewOf({ seq, timestamp: at, type, agent_id: identity, data }: HubEvent): RunEventView {
  const { run_id: _, agent_id: given, ...rest } = data
  const agent_id = typeof given === 'string' ? given : (identity ?? '')
  return {
    seq,
    at,
    type,
    agent_id,
    ...(identity === null || identity === agent_id ? {} : { identity }),
    data: rest,
  }
}

function invalidEvent(type: string, why: string, cause: unknown): TurnbellError {
  return new TurnbellError('params_invalid', {
    detail: `${type}: ${why}`,
    hint: 'Add what is missing, or use a custom type, which begins with x. and takes any data.',
    cause,
  })
}
