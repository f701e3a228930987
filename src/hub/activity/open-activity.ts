/** The module `activity` of a hub with its intake, its periodic work, and the events about states. */
import type { SessionState } from '../../contracts/activity/session-state.ts'
import { createIntake, type Intake } from '../../modules/activity/intake.ts'
import type { Activity, EndedSession } from '../../modules/activity/types.ts'
import type { Clock } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'
import type { Log } from '../../ports/log.ts'
import type { HubModule } from '../hub-module.ts'
import { activityPart, type StoredActivity } from './activity-part.ts'
import { noActivity } from './no-activity.ts'

export interface OpenActivityDeps {
  /** Default: none; its actions then reject with `store_unavailable`. */
  activity?: StoredActivity
  /** Whether the process runs that has this start time, if it is known. Default: the processes of sessions are not checked. */
  isRunning?: (pid: number, started: string | null) => boolean
  clock: Pick<Clock, 'monotonic'>
  log: Log
}

export function openActivity(
  { activity: stored, isRunning, clock, log }: OpenActivityDeps,
  events: Pick<EventLog, 'append'>,
): { activity: Activity; intake: Intake; parts: HubModule[] } {
  const announce = (
    { session_id, identity, client }: Omit<EndedSession, 'state'>,
    state: SessionState,
  ): void => {
    events.append({ type: 'activity.state', agent_id: identity, data: { session_id, client, ...state } })
  }
  const activity = stored?.module ?? noActivity()
  const part =
    stored && activityPart({ ...stored, isRunning, onEnded: (session) => announce(session, session.state) })
  return {
    activity,
    intake: createIntake({ activity, clock, log, onState: announce }),
    parts: part === undefined ? [] : [part],
  }
}
