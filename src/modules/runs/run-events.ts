/** What happens in a run, as events of the one stream, and those of one run read back from it. */
import { TurnbellError } from '../../contracts/errors.ts'
import type { HubEvent } from '../../contracts/events.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { describeParams } from '../../contracts/describe.ts'
import { isRunEvent, KNOWN_RUN_EVENTS, KnownRunEvent, RunEvent } from '../../contracts/run-events.ts'
import type { RunEventView } from '../../contracts/runs.ts'
import type { EventLog } from '../../ports/event-log.ts'
import { checkEventData } from '../event-data.ts'

/** Whose fact it is, and who tells it: under which name, and who that really is. */
export interface Teller {
  run_id: string
  /** As it is told. */
  agent_id: string
  identity: string
}

/** What the other end of a delegation is called in the stream, where `run_id` says whose fact it is. */
const OTHER_END: Record<string, string> = {
  delegation_sent: 'target_run_id',
  delegation_received: 'source_run_id',
}

/** Throws `params_invalid` for what is no such fact. */
export function tellRunEvent(
  events: Pick<EventLog, 'append'>,
  { run_id, agent_id, identity }: Teller,
  type: string,
  data: Record<string, Json> = {},
): HubEvent {
  checkEventData(data)
  const fact = { type, data }
  const form = KNOWN_RUN_EVENTS.includes(type) ? KnownRunEvent : RunEvent
  const parsed = form.safeParse(fact)
  if (!parsed.success) throw misfit(type, describeParams(form, fact, parsed.error), parsed.error)
  const { run_id: other, ...rest } = data
  const end = OTHER_END[type]
  const told = end === undefined || other === undefined ? rest : { ...rest, [end]: other }
  return events.append({ type, agent_id: identity, data: { ...told, run_id, agent_id } })
}

/** The newest of a run, oldest of them first. Calls that were made in the run are none. */
export function eventsOfRun(events: Pick<EventLog, 'read'>, run_id: string, limit: number): RunEventView[] {
  if (limit === 0) return []
  const { events: all } = events.read({ run_id, limit: LIMITS.event_log_events_max })
  return all
    .filter(({ type }) => isRunEvent(type))
    .slice(-limit)
    .map(viewOf)
}

function viewOf({ seq, timestamp: at, type, agent_id: identity, data }: HubEvent): RunEventView {
  const { run_id: _, agent_id: told, ...rest } = data
  const agent_id = typeof told === 'string' ? told : (identity ?? '')
  return {
    ...{ seq, at, type, agent_id },
    ...(identity === null || identity === agent_id ? {} : { identity }),
    data: rest,
  }
}

function misfit(type: string, why: string, cause: unknown): TurnbellError {
  return new TurnbellError('params_invalid', {
    detail: `${type}: ${why}`,
    hint: 'Say what is missing, or use a type of your own, which begins with x. and takes any data.',
    cause,
  })
}
