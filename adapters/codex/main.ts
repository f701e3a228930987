/**
 * The shim of the `codex` surface, started and supervised by the persona's daemon. It follows the thread that acts
 * for the persona and rings through its queue. It also owns an app-server, which is started when a person joins, or
 * at once for a headless persona.
 */
import os from 'node:os'
import path from 'node:path'
import { openActivity, type Activity } from './activity/main.ts'
import { connectAppServer, type AppServer, type AppServerHandlers } from './app-server.ts'
import { approvalAnswers } from './approvals.ts'
import { codexSurface, type CodexSurface } from './codex-surface.ts'
import { ensureThread, type ThreadStore } from './kept-thread.ts'
import { createLink, type Link, type LinkDeps } from './link.ts'
import { appServerArguments, appServerEnvironment } from './own-server.ts'
import type { Notification } from './protocol.ts'
import type { ServerKind } from './thread-search.ts'
import { restartBackoff } from '../restart-backoff.ts'
import { runShim, type ShimParts } from '../shim-process.ts'
import { SESSION_START } from '../../src/contracts/spool/hook.ts'
import { versionWarning } from '../../src/contracts/clients/client-versions.ts'
import { clientProgram, withoutOuterSession } from '../../src/system/clients/client-discovery.ts'
import { systemClock } from '../../src/system/clock.ts'
import { nodeProgram } from '../../src/system/process/node-program.ts'
import { codexRunFiles, type CodexRunFiles } from '../../src/system/clients/codex-run-files.ts'
import { sharedInstance, sharedSocket } from '../../src/system/clients/codex-shared-server.ts'
import { codexWindows } from '../../src/system/clients/codex-windows.ts'
import { workerLog } from '../../src/system/config/home.ts'
import { attachedUsers } from '../../src/system/clients/attached-users.ts'
import {
  detachedProcess,
  type DetachedProcess,
  type IdentifiedProcess,
} from '../../src/system/process/detached-process.ts'
import { isGone } from '../../src/system/process/process-info.ts'
import { shellWord } from '../../src/system/process/shell-word.ts'
import { serverRequest } from '../../src/system/clients/server-request.ts'
import { workingDirectory, type ShimEnvironment } from '../../src/system/clients/shim-environment.ts'
import type { Log } from '../../src/ports/log.ts'
import { VERSION } from '../../src/system/version.ts'

function createParts(here: ShimEnvironment): ShimParts {
  const { identity, settings, paths, log } = here
  const directory = settings?.headless === true ? workingDirectory(here) : null
  const run_files = codexRunFiles(paths.run_dir)
  const people = attachedUsers(paths.run_dir, 'codex')
  const wish = serverRequest(paths.run_dir, 'codex')
  /** A client is attached to the app-server or about to join it. */
  const isUsed = () => people.isAttached() || wish.isActive()
  const sharedWindows = codexWindows(path.resolve(codexHome()))
  // Created here, so that a missing Codex is reported at once.
  const own_server = ownServer(here)
  const own_process = own_server.process
  const activity = openActivity(here)

  const surface = codexSurface({
    identity,
    clock: systemClock,
    log,
    activity: activity.feed ?? undefined,
    reach,
    alive: (client) => !isGone(client),
    instanceId: (at) => (at === 'own' ? own_process.instanceId() : sharedInstance(codexHome())),
    ...(directory === null
      ? {
          hasWindow: (at, look) =>
            at === 'own' ? people.isAttached() : sharedWindows.isOpen(look === 'now'),
        }
      : { people }),
  })
  const headless = {
    keptThread: () => run_files.keptThread(),
    boundThread: () => surface.bound(),
    untilAlone: () => people.untilDetached(),
  }
  const answer = approvalAnswers(headless, { permissions: settings?.permissions ?? 'reject', log })
  const ends: LinkEnds = {
    here,
    surface,
    activity,
    own_server,
    store: threadStore(run_files, log),
    agent: directory === null ? null : { directory, answer },
  }
  const links: Record<ServerKind, Link> = { own: ownLink(ends), shared: sharedLink(ends) }
  function reach(to: ServerKind): Promise<void> {
    if (to === 'own') links.own.keepConnected()
    return links[to].connectOnce()
  }

  // An app-server with attached windows may still run from the previous daemon, or has to be restarted.
  if (directory !== null || own_process.alive() || people.isAttached()) links.own.keepConnected()
  wish.onRequest(() => {
    own_server.resetBackoff()
    links.own.keepConnected()
  })
  run_files.follow((news) => void surface.handleNews(news))

  return {
    surface,
    stop() {
      for (const link of Object.values(links)) link.close()
      // The last client that leaves stops it, or the next daemon takes it over.
      const keeps_server = isUsed()
      if (keeps_server) log.info({ clients: people.pids() }, 'app-server kept running for its clients')
      else own_process.stop()
      activity.close(keeps_server ? null : 'own')
    },
  }
}

function threadStore(run_files: CodexRunFiles, log: Log): ThreadStore {
  return {
    ...run_files,
    // A failed write is only logged, because only `turnbell run` reads the mark.
    spokenIn(thread_id) {
      try {
        run_files.markUsed(thread_id)
      } catch (error) {
        log.warn({ err: error, thread_id }, 'thread could not be marked as joinable')
      }
    },
  }
}

/** What a connection to an app-server needs. */
interface LinkEnds {
  here: ShimEnvironment
  surface: CodexSurface
  activity: Activity
  own_server: OwnServer
  store: ThreadStore
  /** The headless agent; null if the persona has none. */
  agent: { directory: string; answer: NonNullable<AppServerHandlers['answer']> } | null
}

/** The connection to the persona's own app-server, which it starts. */
function ownLink(ends: LinkEnds): Link {
  const { here, surface, activity, own_server, store, agent } = ends
  let resumable_thread: string | null = null
  /** Marks a thread as joinable with its first item, which Codex has then written to disk. */
  function noteFirstItem({ method, params }: Notification): void {
    if (method !== 'item/started' || params.threadId === resumable_thread) return
    store.spokenIn(params.threadId)
    resumable_thread = params.threadId
  }

  async function dial(onClose: () => void): Promise<AppServer> {
    own_server.ensure()
    const server = await connectAppServer(here.paths.codex_socket, clientOptions(here), {
      onMessage: (message) => activity.feed?.message(message, 'own'),
      onNotification(notification) {
        surface.handleNotification(notification, 'own')
        noteFirstItem(notification)
      },
      onClose,
      ...(agent === null ? {} : { answer: agent.answer }),
    })
    if (agent === null) return server
    try {
      await ensureThread(server, { store, directory: agent.directory, log: here.log })
      return server
    } catch (error) {
      server.close()
      throw error
    }
  }

  return linkTo('own', dial, ends)
}

/** The connection to the app-server that every plain `codex` of this user shares. */
function sharedLink(ends: LinkEnds): Link {
  const { here, surface, activity } = ends
  const dial = (onClose: () => void) =>
    connectAppServer(sharedSocket(codexHome()), clientOptions(here), {
      onMessage: (message) => activity.feed?.message(message, 'shared'),
      onNotification: (notification) => surface.handleNotification(notification, 'shared'),
      onClose,
    })
  return linkTo('shared', dial, ends)
}

function linkTo(at: ServerKind, dial: LinkDeps['dial'], { here, surface, activity }: LinkEnds): Link {
  return createLink({
    dial,
    onConnected(server) {
      logVersion(here, at, server)
      void surface.connected(server, at)
    },
    onClosed() {
      surface.disconnected(at)
      activity.feed?.disconnected(at)
    },
    clock: systemClock,
    log: here.log,
  })
}

const clientOptions = ({ log }: ShimEnvironment) => ({ version: VERSION, clock: systemClock, log })

interface OwnServer {
  process: IdentifiedProcess
  /** Starts the app-server, with backoff, unless it runs. */
  ensure(): void
  resetBackoff(): void
}

function ownServer(here: ShimEnvironment): OwnServer {
  const process = ownProcess(here)
  const backoff = restartBackoff(systemClock)
  let started = false
  return {
    process,
    ensure() {
      if (process.alive() || !backoff.isReady()) return
      // Looked up again, because an upgrade may have moved the program.
      ownProcess(here).ensure()
      const delay_ms = backoff.started()
      if (started) here.log.warn({ output: outputOf(here), delay_ms }, 'app-server exited and was restarted')
      started = true
    },
    resetBackoff: () => backoff.reset(),
  }
}

const codexHome = () => process.env['CODEX_HOME'] || path.join(os.homedir(), '.codex')
const outputOf = ({ home, identity }: ShimEnvironment) => workerLog(home, identity, 'codex')

function ownProcess(here: ShimEnvironment): DetachedProcess {
  const { home, config, identity, paths } = here
  const bin = path.join(import.meta.dirname, '..', '..', 'turnbell.cjs')
  const named = ['--client', 'codex', '--persona', identity, '--home', home.root]
  const node = nodeProgram(process.env)
  const hook = [node, bin, 'hook', SESSION_START, ...named, '--own-server']
  const settings = {
    identity,
    home: home.root,
    node,
    bin,
    session_hook: hook.map(shellWord).join(' '),
    autostart: process.env['TURNBELL_NO_AUTOSTART'] !== '1',
  }
  return detachedProcess({
    program: clientProgram('codex', { home, config, env: process.env }),
    args: appServerArguments(paths.codex_socket, settings),
    env: appServerEnvironment(withoutOuterSession(process.env), settings),
    note_file: path.join(paths.run_dir, 'codex.pid'),
    output_file: outputOf(here),
  })
}

function logVersion({ log }: ShimEnvironment, server_kind: ServerKind, { user_agent }: AppServer): void {
  const version = /\d+\.\d+\.\d+/.exec(user_agent)?.[0] ?? null
  log.info({ server_kind, version }, 'attached to app-server')
  const caution = version === null ? null : versionWarning('codex', version)
  if (caution !== null) log.warn({ version }, `this Codex is ${caution.what}`)
}

runShim('codex-shim', createParts)
