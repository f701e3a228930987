/**
 * The shim of the `codex` surface, started and supervised by the persona's daemon: follows the thread that
 * acts for the persona, and rings by its queue. It owns an app-server for whoever joins one, which is started
 * when somebody does, or for a persona without a window at once.
 */
import os from 'node:os'
import path from 'node:path'
import { connectAppServer, type AppServer, type AppServerHandlers } from './app-server.ts'
import { answersFor } from './approvals.ts'
import { codexSurface } from './codex-surface.ts'
import { ensureThread, type ThreadMemory } from './kept-thread.ts'
import { lastingLink, type Link } from './link.ts'
import { appServerArguments, appServerEnvironment } from './own-server.ts'
import type { Notification } from './protocol.ts'
import type { Place } from './thread-search.ts'
import { serverRest } from '../server-rest.ts'
import { shimProcess, type ShimParts } from '../shim-process.ts'
import { SESSION_START } from '../../src/contracts/hook.ts'
import { cautionAbout } from '../../src/contracts/client-versions.ts'
import { clientProgram, withoutOuterSession } from '../../src/system/clients.ts'
import { systemClock } from '../../src/system/clock.ts'
import { nodeProgram } from '../../src/system/node-program.ts'
import { codexPlace } from '../../src/system/codex-place.ts'
import { sharedInstance, sharedSocket } from '../../src/system/codex-shared-server.ts'
import { codexWindows } from '../../src/system/codex-windows.ts'
import { workerLog } from '../../src/system/home.ts'
import { joined } from '../../src/system/joined.ts'
import { lastingProcess, type LastingProcess, type NotedProcess } from '../../src/system/lasting-process.ts'
import { isGone } from '../../src/system/processes.ts'
import { shellWord } from '../../src/system/shell-word.ts'
import { serverWish } from '../../src/system/server-wish.ts'
import { workingDirectory, type ShimPlace } from '../../src/system/shim-place.ts'
import { VERSION } from '../../src/system/version.ts'

function begin(here: ShimPlace): ShimParts {
  const { identity, settings, paths, log } = here
  const directory = settings?.headless === true ? workingDirectory(here) : null
  const place = codexPlace(paths.run_dir)
  const persons = joined(paths.run_dir, 'codex')
  const windowless = {
    keptThread: () => place.keptThread(),
    boundThread: () => surface.bound(),
    untilAlone: () => persons.untilAlone(),
  }
  const answer = answersFor(windowless, { permissions: settings?.permissions ?? 'reject', log })
  const wish = serverWish(paths.run_dir, 'codex')
  /** A client works at the app-server, or is about to join it. */
  const isUsed = () => persons.isJoined() || wish.stands()
  const sharedWindows = codexWindows(path.resolve(codexHome()))
  // Where there is no Codex, that is said at once.
  const own: NotedProcess = ownProcess(here)
  const memory: ThreadMemory = {
    ...place,
    // Only `turnbell run` misses it: no reason for a disk that is full to stop anything here.
    spokenIn(thread_id) {
      try {
        place.spokenIn(thread_id)
      } catch (error) {
        log.warn({ err: error, thread_id }, 'that the thread can be joined was not written down')
      }
    },
  }

  const surface = codexSurface({
    ...{ identity, clock: systemClock, log, reach },
    alive: (client) => !isGone(client),
    instanceId: (at) => (at === 'own' ? own.instanceId() : sharedInstance(codexHome())),
    ...(directory === null
      ? {
          hasWindow: (at, look) => (at === 'own' ? persons.isJoined() : sharedWindows.isOpen(look === 'now')),
        }
      : { persons }),
  })
  const links: Record<Place, Link> = {
    own: linkTo('own', paths.codex_socket),
    shared: linkTo('shared', sharedSocket(codexHome())),
  }
  function reach(to: Place): Promise<void> {
    if (to === 'own') links.own.forever()
    return links[to].once()
  }

  let spoken_in: string | null = null
  /** What was said is written down by then: from now on the thread can be joined. */
  function heard({ method, params }: Notification): void {
    if (method !== 'item/started' || params.threadId === spoken_in) return
    memory.spokenIn(params.threadId)
    spoken_in = params.threadId
  }

  function linkTo(at: Place, socket: string): Link {
    const how = { version: VERSION, clock: systemClock, log }
    const handlers = {
      onNotification(notification) {
        surface.notified(notification, at)
        if (at === 'own') heard(notification)
      },
      ...(at === 'own' && directory !== null ? { answer } : {}),
    } satisfies Partial<AppServerHandlers>
    return lastingLink({
      async dial(onClose) {
        if (at === 'own') startOwn()
        const server = await connectAppServer(socket, how, { ...handlers, onClose })
        if (at === 'shared' || directory === null) return server
        return ensureThread(server, { memory, directory, log }).then(
          () => server,
          (error: unknown) => {
            server.close()
            throw error
          },
        )
      },
      onConnected(server) {
        tellVersion(here, at, server)
        void surface.connected(server, at)
      },
      onClosed: () => surface.disconnected(at),
      clock: systemClock,
      log,
    })
  }

  const rest = serverRest(systemClock)
  let started = false
  function startOwn(): void {
    if (own.alive() || !rest.isOver()) return
    // Looked up anew: an upgrade may have moved it.
    ownProcess(here).ensure()
    const rest_ms = rest.started()
    if (started)
      log.warn({ output: outputOf(here), rest_ms }, 'the app-server has ended and is started again')
    started = true
  }

  // One that a window still needs was left running by the daemon before, or is started again for it.
  if (directory !== null || own.alive() || persons.isJoined()) links.own.forever()
  wish.onAsked(() => {
    rest.forget()
    links.own.forever()
  })
  place.follow((news) => void surface.told(news))

  return {
    surface,
    stop() {
      for (const link of Object.values(links)) link.close()
      // The last client that leaves ends it, or the next daemon goes on with it.
      if (isUsed()) log.info({ clients: persons.pids() }, 'the app-server keeps running for its clients')
      else own.stop()
    },
  }
}

const codexHome = () => process.env['CODEX_HOME'] || path.join(os.homedir(), '.codex')
const outputOf = ({ home, identity }: ShimPlace) => workerLog(home, identity, 'codex')

function ownProcess(here: ShimPlace): LastingProcess {
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
  return lastingProcess({
    program: clientProgram('codex', { home, config, env: process.env }),
    args: appServerArguments(paths.codex_socket, settings),
    env: appServerEnvironment(withoutOuterSession(process.env), settings),
    note_file: path.join(paths.run_dir, 'codex.pid'),
    output_file: outputOf(here),
  })
}

function tellVersion({ log }: ShimPlace, place: Place, { user_agent }: AppServer): void {
  const version = /\d+\.\d+\.\d+/.exec(user_agent)?.[0] ?? null
  log.info({ place, version }, 'attached to an app-server')
  const caution = version === null ? null : cautionAbout('codex', version)
  if (caution !== null) log.warn({ version }, `this Codex is ${caution.what}`)
}

shimProcess('codex-shim', begin)
