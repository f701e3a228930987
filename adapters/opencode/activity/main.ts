/** Records what the agent does: the part about activity of both compositions, of the shim and of the plugin. */
import { createOpencodeActivity, type OpencodeActivity } from './opencode-activity.ts'
import type { ClientProcess } from './recorded-thread.ts'
import { openConnectedActivityLog } from '../../activity/main.ts'
import { isBellMetadata } from '../session-tracker.ts'
import type { Config } from '../../../src/contracts/config.ts'
import type { Identity } from '../../../src/contracts/ids.ts'
import type { Log } from '../../../src/ports/log.ts'
import type { Home, PersonaPaths } from '../../../src/system/config/home.ts'
import { processStartTime } from '../../../src/system/process/process-info.ts'

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
  const run = { run_dir: paths.run_dir, client: 'opencode' }
  const activity = openConnectedActivityLog({ home, config, identity, log, ...run })
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
