/**
 * The shim of the `opencode` surface, started and supervised by the persona's daemon. It owns the persona's opencode
 * server, which is started when it is requested, follows the session in which a person works, and rings it while it
 * is idle.
 */
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { clientProcess, openActivity, type Activity } from './activity/main.ts'
import { sessionReader } from './activity/session-reader.ts'
import { headless, type Headless } from './headless.ts'
import { opencodeSurface } from './opencode-surface.ts'
import { serverLink } from './server-link.ts'
import {
  connectOpencode,
  OpencodeError,
  type OpencodeHandlers,
  type OwnedServer,
  type SessionRef,
} from './server.ts'
import { withTurnbell, type PluginEntry } from './server-config.ts'
import { restartBackoff, type RestartBackoff } from '../restart-backoff.ts'
import { runShim, type ShimParts } from '../shim-process.ts'
import {
  clientProgram,
  opencodeLoadsPluginsFast,
  withoutOuterSession,
} from '../../src/system/clients/client-discovery.ts'
import { systemClock } from '../../src/system/clock.ts'
import { livePid } from '../../src/system/process/pid-file.ts'
import { nodeProgram } from '../../src/system/process/node-program.ts'
import { freePort, isFree } from '../../src/system/ipc/free-port.ts'
import { workerLog } from '../../src/system/config/home.ts'
import { attachedUsers, type AttachedUsers } from '../../src/system/clients/attached-users.ts'
import {
  detachedProcess,
  identifiedProcess,
  type DetachedProcess,
} from '../../src/system/process/detached-process.ts'
import {
  opencodeRunFiles,
  serverAuthorization,
  serverUrl,
  type BoundSession,
  type OpencodeRunFiles,
  type ServerAddress,
} from '../../src/system/clients/opencode-run-files.ts'
import { serverRequest } from '../../src/system/clients/server-request.ts'
import { workingDirectory, type ShimEnvironment } from '../../src/system/clients/shim-environment.ts'

function createParts(here: ShimEnvironment): ShimParts {
  const { identity, settings, paths, log } = here
  const run_files = opencodeRunFiles(paths.run_dir)
  const wish = serverRequest(paths.run_dir, 'opencode')
  const people = attachedUsers(paths.run_dir, 'opencode')
  /** A client is attached to the server or about to join it. */
  const isUsed = () => people.isAttached() || wish.isActive()
  const agent = settings?.headless === true ? headlessAgent(here, run_files, people) : null
  const running = identifiedProcess(noteOf(here))
  const activity = openActivity(here)

  const surface = opencodeSurface({
    identity,
    clock: systemClock,
    log,
    instanceId: () => running.instanceId(),
    storeSession: sessionStore(run_files, activity),
    ...(agent === null
      ? { hasWindow: () => people.isAttached() }
      : { onUnbound: () => link.unbound(), mayRedo: () => people.isAttached() }),
  })
  const backoff = restartBackoff(systemClock)
  let address: ServerAddress | null = null
  const link = serverLink({
    surface,
    async ensure() {
      const [server, found] = await ensureServer(here, run_files, backoff)
      address = server
      return found
    },
    stop: () => running.stop(),
    connect: (handlers) => connectRecorded(here, address as ServerAddress, activity, handlers),
    async chooseSession(server) {
      if (agent !== null) return agent.chooseSession(server)
      const kept = run_files.bound()
      return kept && sessionRef(kept)
    },
    onAttached: () => address !== null && run_files.keepServer({ ...address, attached: true }),
    onRequest: (request, server) => void agent?.handleRequest(request, server),
    output: outputOf(here),
    clock: systemClock,
    log,
  })
  // A server that still runs may be in use.
  const before = run_files.server()
  const runs = before !== null && running.alive()
  if (before !== null && !runs) run_files.keepServer({ ...before, attached: false })
  // A server with attached windows may still run from the previous daemon, or has to be restarted.
  if (agent !== null || runs || people.isAttached()) link.start()
  const wish_watch = wish.onRequest(() => {
    backoff.reset()
    link.start()
  })
  const left = people.onAllDetached(() => void agent?.answerOpen())
  const windows = people.onChange(() => surface.windowsChanged())
  const bound = run_files.onBound((session) => void surface.personJoined(sessionRef(session)))

  return {
    surface,
    stop() {
      wish_watch.close()
      left.close()
      windows.close()
      bound.close()
      link.close()
      agent?.close()
      const last = run_files.server()
      if (last !== null) run_files.keepServer({ ...last, attached: false })
      // The last client that leaves stops it, or the next daemon takes it over.
      const keeps_server = isUsed()
      activity.close(keeps_server ? null : 'server_stopped')
      if (keeps_server) return log.info({ clients: people.pids() }, 'server kept running for its clients')
      if (last !== null) running.stop()
      // The session ends with the server; the next server starts without one.
      run_files.storeBound(null)
    },
  }
}

/** Returns a function that stores the session that is rung, for the bridge, and records its begin. */
function sessionStore(run_files: OpencodeRunFiles, { feed }: Activity) {
  return (session: SessionRef | null): void => {
    feed?.bound(session)
    run_files.storeBound(session && boundSession(session))
  }
}

/** Connects to the server and records what its sessions do. */
async function connectRecorded(
  here: ShimEnvironment,
  address: ServerAddress,
  { feed }: Activity,
  handlers: OpencodeHandlers,
): Promise<OwnedServer> {
  const at = { url: serverUrl(address), authorization: serverAuthorization(address) }
  const onPayload = (payload: object, directory: string) => feed?.handle(payload, directory)
  const options = { clock: systemClock, log: here.log }
  const server = await connectOpencode(at, options, { ...handlers, onPayload })
  const pid = livePid(noteOf(here))
  void feed?.attached(pid === null ? null : clientProcess(pid), sessionReader(server))
  return server
}

/**
 * Returns the running server or starts a new one, at the previous address if its port is still free. Rejects during
 * the backoff of a server that keeps exiting.
 *
 * @throws `client_missing`, `config_invalid`
 */
async function ensureServer(
  here: ShimEnvironment,
  run_files: OpencodeRunFiles,
  backoff: RestartBackoff,
): Promise<[ServerAddress, 'started' | 'lives']> {
  const kept = run_files.server()
  if (kept !== null && identifiedProcess(noteOf(here)).alive()) return [kept, 'lives']
  if (!backoff.isReady()) {
    if (kept?.attached === true) run_files.keepServer({ ...kept, attached: false })
    throw new OpencodeError(null, 'the server keeps exiting; its restart is delayed')
  }
  const { home, config } = here
  const program = clientProgram('opencode', { home, config, env: process.env })
  const free = kept !== null && (await isFree(kept.port))
  const address = free ? kept : { port: await freePort(), password: randomBytes(24).toString('base64url') }
  const next = { ...address, attached: false }
  run_files.keepServer(next)
  const found = serverProcess(here, next, program).ensure()
  backoff.started()
  return [next, found]
}

const noteOf = ({ paths }: ShimEnvironment) => path.join(paths.run_dir, 'opencode.pid')
const outputOf = ({ home, identity }: ShimEnvironment) => workerLog(home, identity, 'opencode')

/** @throws `config_invalid` */
function serverProcess(here: ShimEnvironment, address: ServerAddress, program: string): DetachedProcess {
  const { home, identity } = here
  const env = withoutOuterSession(process.env)
  const bin = path.join(import.meta.dirname, '..', '..', 'turnbell.cjs')
  const bridge = [nodeProgram(process.env), bin, 'mcp', '--client', 'opencode', '--persona', identity]
  bridge.push('--home', home.root)
  const guard: PluginEntry = [
    pathToFileURL(path.join(import.meta.dirname, 'plugin.js')).href,
    { persona: identity, home: home.root },
  ]
  const plugin = opencodeLoadsPluginsFast(env) ? guard : null
  const content = env['OPENCODE_CONFIG_CONTENT']
  return detachedProcess({
    program,
    args: ['serve', '--hostname', '127.0.0.1', '--port', String(address.port)],
    env: {
      ...env,
      TURNBELL_HOME: home.root,
      TURNBELL_PERSONA: identity,
      OPENCODE_SERVER_PASSWORD: address.password,
      OPENCODE_CONFIG_CONTENT: withTurnbell(content, bridge, plugin),
    },
    note_file: noteOf(here),
    output_file: outputOf(here),
  })
}

/** @throws `config_invalid` */
function headlessAgent(here: ShimEnvironment, run_files: OpencodeRunFiles, people: AttachedUsers): Headless {
  return headless({
    directory: workingDirectory(here),
    permissions: here.settings?.permissions ?? 'reject',
    storedSession() {
      const kept = run_files.headlessSession()
      return kept && sessionRef(kept)
    },
    storeSession: (session) => run_files.keepWindowless(boundSession(session)),
    boundSession() {
      const bound = run_files.bound()
      return bound && sessionRef(bound)
    },
    isJoined: () => people.isAttached(),
    clock: systemClock,
    log: here.log,
  })
}

const boundSession = ({ id, directory }: SessionRef): BoundSession => ({ session_id: id, directory })
const sessionRef = ({ session_id, directory }: BoundSession): SessionRef => ({ id: session_id, directory })

runShim('opencode-shim', createParts)
