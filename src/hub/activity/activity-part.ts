/** The periodic work of the module `activity`: processes of open sessions that have ended, and old activity. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Activity, EndedSession } from '../../modules/activity/types.ts'
import type { HubModule } from '../hub-module.ts'

export interface StoredActivity {
  module: Activity
  /** Whether anything is stored. */
  isUsed: () => boolean
}

export interface ActivityPartDeps extends StoredActivity {
  /** See `OpenActivityDeps`. */
  isRunning: ((pid: number, started: string | null) => boolean) | undefined
  /** A session has ended with its process. */
  onEnded: (session: EndedSession) => void
}

export function activityPart({ module: activity, isUsed, isRunning, onEnded }: ActivityPartDeps): HubModule {
  async function checkProcesses(): Promise<void> {
    if (isRunning === undefined || !isUsed()) return
    const open = await activity.openProcesses({})
    const ended = open.filter(({ pid, pid_started }) => !isRunning(pid, pid_started))
    const session_ids = ended.map(({ session_id }) => session_id)
    if (session_ids.length === 0) return
    for (const session of await activity.processesEnded({ session_ids })) onEnded(session)
  }

  return {
    name: 'activity',
    jobs: [
      {
        name: 'check of the processes of sessions',
        every_ms: LIMITS.activity_process_check_ms,
        run: () => unlessUnavailable(checkProcesses()),
      },
      {
        name: 'deletion of old activity',
        every_ms: LIMITS.activity_cleanup_ms,
        run: () => (isUsed() ? unlessUnavailable(activity.cleanUp({})) : undefined),
      },
    ],
    stop: () => activity.close(),
  }
}

/** A database that cannot be used is logged where it is opened. */
async function unlessUnavailable(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof TurnbellError) || error.code !== 'store_unavailable') throw error
  })
}
