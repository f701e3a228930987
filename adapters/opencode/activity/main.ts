/** Records what the agent does: the part about activity of both compositions, of the shim and of the plugin. */
import { createOpencodeActivity, type OpencodeActivity } from './opencode-activity.ts'
import type { ClientProcess } from './recorded-thread.ts'
import { openActivityLog } from '../../activity/main.ts'
import { isBellMetadata } from '../session-tracker.ts'
import { createUpstream } from '../../../src/bridge/hub/upstream.ts'
import type { Config } from '../../../src/contracts/config.ts'
import type { Identity } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Log } from '../../../src/ports/log.ts'
import { systemClock } from '../../../src/system/clock.ts'
import type { Home, PersonaPaths } from '../../../src/system/config/home.ts'
import { requireHub } from '../../../src/system/config/hub-discovery.ts'
import { readOperatorToken } from '../../../src/system/config/secrets.ts'
import { processStartTime } from '../../../src/system/process/process-info.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { VERSION } from '../../../src/system/version.ts'

export interface OpenActivityDeps {
  home: Home
  config: Config
  identity: Identity
  paths: Pick<PersonaPaths, 'run_dir'>
  log: Log
}

export interface Activity {
  /** Null if nothing may be recorded. */
  feed: OpencodeActivity | null
  /** Spools what the hub does not have. `ended` is why the sessions end, too; null if their process goes on. */
  close(ended: string | null): void
}

export function openActivity({ home, config, identity, paths, log }: OpenActivityDeps): Activity {
  const upstream = createUpstream({
    identity,
    // Each report names its session.
    session_id: () => identity,
    locate: () => requireHub(home, config),
    operatorToken: () => readOperatorToken(home),
    query: '',
    version: VERSION,
    clock: systemClock,
  })
  const activity = openActivityLog({
    ...{ home, config, identity, log, client: 'opencode', run_dir: paths.run_dir },
    ids: createIds(systemClock, systemRandom),
    send: (report) => upstream.reportActivity(report, LIMITS.activity_answer_ms),
  })
  if (activity === null) return { feed: null, close: () => {} }
  const isBell = (metadata: Record<string, unknown> | undefined) => isBellMetadata(metadata, identity)
  const feed = createOpencodeActivity({ log: activity, isBell, logger: log })
  return {
    feed,
    close(ended) {
      if (ended !== null) feed.end(ended)
      activity.close()
    },
  }
}

export function clientProcess(pid: number): ClientProcess {
  return { pid, pid_started: processStartTime(pid) }
}
