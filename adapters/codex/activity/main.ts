/** Records what the persona's agent does: the part of the Codex shim's composition about activity. */
import path from 'node:path'
import * as z from 'zod'
import { createActivityFeed, type ActivityFeed } from './activity-feed.ts'
import type { RecordedSessionStore } from './recorded-session.ts'
import { openConnectedActivityLog } from '../../activity/main.ts'
import type { ServerKind } from '../thread-search.ts'
import { parseJsonAs } from '../../../src/contracts/validation/json.ts'
import type { ShimEnvironment } from '../../../src/system/clients/shim-environment.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { writeFileAtomic } from '../../../src/system/files/atomic-write.ts'
import { readText } from '../../../src/system/files/watch-file.ts'
import { processInstance } from '../../../src/system/process/process-info.ts'

export interface Activity {
  /** Null if nothing may be recorded. */
  feed: ActivityFeed | null
  /** Spools what the hub does not have. `stopped` is the app-server that this process has stopped. */
  close(stopped: ServerKind | null): void
}

export function openActivity(here: ShimEnvironment): Activity {
  const { home, config, identity, paths, log } = here
  const run = { run_dir: paths.run_dir, client: 'codex' }
  const activity = openConnectedActivityLog({ home, config, identity, log, ...run })
  if (activity === null) return { feed: null, close: () => {} }
  const feed = createActivityFeed({
    ...{ identity, log: activity, clock: systemClock, own_log: log },
    store: recordedSessionFile(path.join(paths.run_dir, 'codex-activity.json')),
    isGone: (instance_id) => processInstance(Number.parseInt(instance_id, 10)) !== instance_id,
  })
  return {
    feed,
    close(stopped) {
      feed.close(stopped)
      activity.close()
    },
  }
}

const RecordedSession = z.object({
  session_id: z.string().min(1),
  instance_id: z.string().nullable(),
  since_ms: z.number(),
  turn: z.object({ turn_id: z.string(), ended: z.boolean() }).nullable(),
})

function recordedSessionFile(file: string): RecordedSessionStore {
  return {
    read: () => parseJsonAs(RecordedSession.nullable(), readText(file)),
    write: (session) => writeFileAtomic(file, JSON.stringify(session)),
  }
}
