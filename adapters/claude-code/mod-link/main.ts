/** Serves the module in the client: the part of the worker's composition about it. */
import { createModLink, type ModLink } from './mod-link.ts'
import { createModServer } from './mod-server.ts'
import type { ActivityFeed } from '../activity/activity-feed.ts'
import type { ClaudeSurface } from '../claude-surface.ts'
import { createViewFeed } from '../view-feed.ts'
import type { Upstream } from '../../../src/bridge/hub/upstream.ts'
import type { Config } from '../../../src/contracts/config.ts'
import type { Identity } from '../../../src/contracts/ids.ts'
import type { Log } from '../../../src/ports/log.ts'
import type { Ids } from '../../../src/ports/random.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { personaPaths, type Home } from '../../../src/system/config/home.ts'
import { openModSocket } from '../../../src/system/ipc/mod-socket.ts'
import { VERSION } from '../../../src/system/version.ts'

export interface Module {
  link: ModLink
  close(): void
}

export interface OpenModuleDeps {
  home: Home
  config: Config
  identity: Identity
  env: NodeJS.ProcessEnv
  ids: Ids
  /** Process of the client. */
  host_pid: number
  log: Log
  surface: () => ClaudeSurface
  upstream: () => Upstream
  activity: ActivityFeed | null
}

/** If no socket can be opened, hooks do everything. */
export function openModule(deps: OpenModuleDeps): Module {
  const { home, config, identity, env, ids, host_pid, log, surface, upstream, activity } = deps
  const link = createModLink({
    version: VERSION,
    enabled: config.claude_code.module,
    content: config.activity.capture === 'full',
    newEpoch: () => ids.next(),
    clock: systemClock,
    log,
    onAttached(hello) {
      surface().modAttached(hello)
      activity?.modAttached(hello)
      views?.start()
    },
    onEvent(event, of) {
      surface().modEvent(event, of)
      activity?.modEvent(event, of)
      const is_turn = event.kind === 'turn_started' || event.kind === 'turn_ended'
      if (is_turn && event.agent === undefined) views?.refresh()
    },
    onDropped(events) {
      surface().modDropped()
      activity?.modDropped(events)
    },
    onLost() {
      surface().modLost()
      activity?.modLost()
      views?.stop()
    },
  })
  const views = config.claude_code.ui
    ? createViewFeed({
        persona: identity,
        read: (answer_ms) => upstream().teamView(answer_ms),
        show: (view, arrived) => link.show(view, arrived),
        clock: systemClock,
        log,
      })
    : null
  const paths = personaPaths(home, config.tenant_id, identity, env)
  const opening = openModSocket(createModServer(link, ids, log), { home, paths, client_pid: host_pid })
  opening.catch((error: unknown) => {
    log.warn({ err: error }, 'no socket for the module in the client; hooks are used')
    link.markUnavailable('no socket')
  })
  return {
    link,
    close() {
      views?.stop()
      link.close()
      opening.then((socket) => socket.close()).catch(() => undefined)
    },
  }
}
