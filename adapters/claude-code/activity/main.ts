/** Records what the agent of one session does: the part of the worker's composition about activity. */
import { createActivityFeed, type ActivityFeed } from './activity-feed.ts'
import { openActivityLog } from '../../activity/main.ts'
import type { Upstream } from '../../../src/bridge/hub/upstream.ts'
import type { Config } from '../../../src/contracts/config.ts'
import type { Identity } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Log } from '../../../src/ports/log.ts'
import type { Ids } from '../../../src/ports/random.ts'
import { personaPaths, type Home } from '../../../src/system/config/home.ts'
import { processStartTime } from '../../../src/system/process/process-info.ts'

export interface OpenActivityDeps {
  home: Home
  config: Config
  identity: Identity
  env: NodeJS.ProcessEnv
  ids: Ids
  /** Process of the client. */
  host_pid: number
  respawned: boolean
  log: Log
  upstream: () => Upstream
}

/** The feed is null if nothing may be recorded. */
export function openActivity(deps: OpenActivityDeps): { feed: ActivityFeed | null; close(): void } {
  const { home, config, identity, env, ids, host_pid, respawned, log, upstream } = deps
  const activity = openActivityLog({
    ...{ home, config, identity, ids, log, client: 'claude-code' },
    run_dir: personaPaths(home, config.tenant_id, identity, env).run_dir,
    send: (report) => upstream().reportActivity(report, LIMITS.activity_answer_ms),
  })
  if (activity === null) return { feed: null, close: () => {} }
  const feed = createActivityFeed({
    log: activity,
    project: env['CLAUDE_PROJECT_DIR'] || process.cwd(),
    pid: host_pid,
    pid_started: processStartTime(host_pid),
    respawned,
  })
  return { feed, close: () => activity.close() }
}
