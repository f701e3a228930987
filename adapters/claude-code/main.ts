/**
 * The worker: one process per Claude Code session, started by the plugin's keeper. It is both the MCP bridge to
 * the hub and the surface shim. This file is the composition root of the adapter.
 */
import os from 'node:os'
import path from 'node:path'
import { claudeSurface, type ClaudeSurface } from './claude-surface.ts'
import { sessionInbox } from './inbox.ts'
import { releaseOrphanedDrains } from './orphaned-drains.ts'
import { exitAfterFailedStart } from './failed-start-exit.ts'
import { openModule } from './mod-link/main.ts'
import { parseRegistryRecord } from './turn-events.ts'
import { deliveryPaths } from './delivery-paths.ts'
import { createWorker, type WorkerDeps } from './worker.ts'
import type { ActivityFeed } from './activity/activity-feed.ts'
import { openActivity } from './activity/main.ts'
import { attachShim, type Shim } from '../shim.ts'
import type { Config } from '../../src/contracts/config.ts'
import { TurnbellError } from '../../src/contracts/errors/errors.ts'
import { Identity } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { removeOrphanedModSockets } from '../../src/system/ipc/mod-socket.ts'
import { wakePipe, wakePipeFile, releaseOrphanedPipes } from '../../src/system/ipc/wake-pipe.ts'
import { startHubInBackground } from '../../src/system/process/background.ts'
import { versionWarning } from '../../src/contracts/clients/client-versions.ts'
import { systemClock } from '../../src/system/clock.ts'
import { loadConfig } from '../../src/system/config/config.ts'
import { personaPaths, prepareHome, resolveHome, workerLog, type Home } from '../../src/system/config/home.ts'
import { requireHub } from '../../src/system/config/hub-discovery.ts'
import { connectLocally } from '../../src/system/ipc/unix-socket.ts'
import { isStopped, processInstance } from '../../src/system/process/process-info.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { readOperatorToken } from '../../src/system/config/secrets.ts'
import { returnIdleMemory } from '../../src/system/process/idle-memory.ts'
import { sessionPersona } from '../../src/contracts/clients/session-persona.ts'
import { bothLogs, fileLog, stderrLog } from '../../src/system/files/json-log.ts'
import { VERSION } from '../../src/system/version.ts'
import { watchFile } from '../../src/system/files/watch-file.ts'
import { createBridge } from '../../src/bridge/bridge.ts'
import { ownInstructions } from '../../src/bridge/own-instructions.ts'
import { StdioLines } from '../../src/bridge/stdio/stdio-lines.ts'
import { createHubFallback } from '../../src/bridge/hub/fallback.ts'
import { createUpstream, type Upstream } from '../../src/bridge/hub/upstream.ts'
import type { Log } from '../../src/ports/log.ts'
import type { RpcHandlers } from '../../src/ports/rpc.ts'
import { TERMINATION_SIGNALS } from '../../src/system/process/termination-signals.ts'

const env = process.env
const ids = createIds(systemClock, systemRandom)
const transport = new StdioLines(process.stdin, process.stdout)
returnIdleMemory()
const respawned = env['TURNBELL_RESPAWN'] === '1'
// The parent process is the keeper's shell; the client is that shell's parent.
const host_pid = Number(env['TURNBELL_HOST_PID'] ?? process.ppid)

interface Session {
  home: Home
  config: Config
  identity: Identity
}

try {
  runWorker(readSession())
} catch (error) {
  // The session was not started for a persona, or the home is unusable. If the worker exited, every prompt would
  // show a failed hook, so it keeps running and does nothing.
  runIdle(error)
}

function readSession(): Session {
  const session = sessionPersona(env)
  const home = resolveHome(env, session.home)
  const config = loadConfig(home.config, env)
  const identity = Identity.safeParse(session.persona)
  if (!identity.success) {
    throw new TurnbellError('config_invalid', {
      detail: 'TURNBELL_PERSONA names no persona, so this session acts for none.',
      hint: 'Start the client with `turnbell run --persona NAME`, or `turnbell connect` the project.',
    })
  }
  prepareHome(home)
  return { home, config, identity: identity.data }
}

function runWorker(here: Session): void {
  const { home, config, identity } = here
  const paths = personaPaths(home, config.tenant_id, identity, env)
  const { log, degraded } = openLogs(here, paths.log)
  log.info({ respawned, client_session: env['CLAUDE_CODE_SESSION_ID'] }, 'worker started')
  const pipe = wakePipe(wakePipeFile(home.root, host_pid))
  releaseOrphanedPipes(home.root)
  removeOrphanedModSockets(home.root)
  const process_facts = { env, ids, host_pid, respawned, log }
  const activity = openActivity({ ...here, ...process_facts, upstream: () => upstream })
  const module = openModule({
    ...{ ...here, ...process_facts, activity: activity.feed },
    ...{ surface: () => surface, upstream: () => upstream },
  })
  const surface = claudeSurface({
    session_id: env['CLAUDE_CODE_SESSION_ID'] ?? null,
    instance_id: processInstance(host_pid),
    paths: deliveryPaths([clientInbox(log), pipe], degraded),
    mod: module.link,
    clock: systemClock,
    log,
    degraded,
    respawned,
    onInterrupted: () => worker.interrupted(),
    turnInterrupted: () => activity.feed?.interrupted(),
    drainsReleased: () => worker.drainsReleased(),
    isStopped: () => isStopped(host_pid),
  })
  const session = () => surface.session() ?? `claude-code-${host_pid}`
  const upstream = hubUpstream(here, session, log)
  const worker = createWorker({
    ...recordedHooks(surface, activity.feed),
    drains: {
      confirm: (drain_id) => bridge.drains.confirm(drain_id),
      release: (signal_ids) => bridge.drains.release(signal_ids),
      settled: () => bridge.drains.settled(),
    },
    ...{ clock: systemClock, respawned, log },
  })
  const watchRegistry = registryWatch(surface, degraded)
  let shim: Shim | null = null
  const bridge = createBridge({
    upstream,
    transport,
    session_id: session,
    instructions: ownInstructions({ identity, upstream, clock: systemClock }),
    version: VERSION,
    ...{ ids, clock: systemClock, log },
    async answer(call) {
      const output = await worker.answer(call)
      return output === null ? null : { content: [{ type: 'text', text: JSON.stringify(output) }] }
    },
    answerWritten: (call) => worker.answerWritten(call),
    drainWritten: (call, drain) => worker.drainWritten(call, drain),
    // An agent without tools cannot drain.
    onToolsListed: watchRegistry,
    onClose: leave,
  })
  // A running client does not list its tools again for a replaced worker.
  if (respawned) watchRegistry()

  const release = () => bridge.drains.releaseOrphaned(session())
  void releaseOrphanedDrains(release, { clock: systemClock, log }).then(() => {
    const dial = (handlers: RpcHandlers) => connectLocally(paths.surface_socket, handlers)
    shim = attachShim({ surface, dial, clock: systemClock, log })
    surface.open(shim)
  })

  function leave(): void {
    log.info({}, 'client exited; worker stops')
    module.close()
    activity.close()
    surface.close()
    shim?.close()
    pipe.release()
    systemClock.after(LIMITS.bridge_close_ms, () => process.exit(0))
    void bridge.drains.settled().then(() => process.exit(0))
  }
  for (const os_signal of TERMINATION_SIGNALS) process.once(os_signal, leave)
}

/** Warnings for the operator are also written to the daemon's log. */
function openLogs({ home, config, identity }: Session, daemon_log: string): { log: Log; degraded: Log } {
  const bound = { name: 'claude-code', identity, host_pid }
  const log = fileLog(config.log.level, bound, workerLog(home, identity, 'claude-code'))
  return { log, degraded: bothLogs(log, fileLog('warn', bound, daemon_log)) }
}

/** The hooks of the session are recorded, too. */
function recordedHooks(
  surface: ClaudeSurface,
  feed: ActivityFeed | null,
): Pick<WorkerDeps, 'surface' | 'hookFired'> {
  return {
    hookFired: (event) => feed?.hookFired(event),
    surface: {
      ...surface,
      continuedWith(doorbell) {
        surface.continuedWith(doorbell)
        feed?.continuedWith(doorbell)
      },
    },
  }
}

function clientInbox(log: Log) {
  return sessionInbox({
    socket: env['CLAUDE_CODE_MESSAGING_SOCKET'],
    token: env['CLAUDE_CODE_MESSAGING_TOKEN'],
    clock: systemClock,
    log,
  })
}

function hubUpstream({ home, config, identity }: Session, session: () => string, log: Log): Upstream {
  const hub_fallback = createHubFallback({
    clock: systemClock,
    log,
    ...(env['TURNBELL_NO_AUTOSTART'] === '1' ? {} : { startHub: () => startHub(home) }),
  })
  return createUpstream({
    identity,
    session_id: session,
    locate: () => requireHub(home, config),
    operatorToken: () => readOperatorToken(home),
    onHubMissing: (away_ms, reached) => hub_fallback.onHubMissing(away_ms, reached),
    query: '',
    version: VERSION,
    clock: systemClock,
  })
}

/** Returns a function that passes the client's session registry to the surface; further calls do nothing. */
function registryWatch(surface: ClaudeSurface, degraded: Log): () => void {
  let watching = false
  let version: string | undefined

  function handleText(text: string | null): void {
    const record = parseRegistryRecord(text)
    if (record === undefined) return
    surface.registryRead(record)
    if (record?.version === undefined || record.version === version) return
    version = record.version
    const caution = versionWarning('claude-code', version)
    if (caution !== null) degraded.warn({ version }, `client is ${caution.what}`)
  }

  return () => {
    if (watching) return
    watching = true
    const directory = env['CLAUDE_CONFIG_DIR'] ?? path.join(os.homedir(), '.claude')
    watchFile(path.join(directory, 'sessions', `${host_pid}.json`), handleText)
  }
}

function runIdle(error: unknown): void {
  const log = stderrLog('info', { name: 'claude-code' })
  const reason = error instanceof Error ? error : new Error(String(error))
  log.warn({ err: error }, 'session has no usable persona; turnbell stays idle')
  const { persona, home } = sessionPersona(env)
  exitAfterFailedStart({ respawned, persona }, { clock: systemClock, exit: () => process.exit(1) })
  createBridge({
    upstream: {
      request: (method) =>
        method === 'tools/list' ? Promise.resolve({ tools: [] }) : Promise.reject(reason),
      checkPersona: () => Promise.resolve(),
      callInProcess: () => null,
      // Never resolves, because a stream that ends would be opened again.
      listen: () => new Promise(() => {}),
      teamView: () => Promise.reject(reason),
      reportActivity: () => Promise.reject(reason),
      endSession: () => Promise.resolve(),
      close: () => {},
    },
    transport,
    session_id: () => 'nobody',
    instructions: '',
    version: VERSION,
    ids,
    clock: systemClock,
    log,
    answer: ({ name }) =>
      Promise.resolve(name === 'turn_event' ? { content: [{ type: 'text', text: '{}' }] } : null),
    onClose() {
      // Releases the session's waiter, which would otherwise wait for a doorbell that never comes.
      wakePipe(wakePipeFile(resolveHome(env, home).root, host_pid)).release()
      process.exit(0)
    },
  })
}

function startHub(home: Home): void {
  const bin = path.join(import.meta.dirname, '..', '..', 'turnbell.cjs')
  startHubInBackground(bin, home, env)
}
