/**
 * The worker: one process per Claude Code session, started by the plugin's keeper, that is the MCP
 * bridge to the hub and the surface shim at once. The composition root of the adapter.
 */
import os from 'node:os'
import path from 'node:path'
import { claudeSurface } from './claude-surface.ts'
import { sessionInbox } from './inbox.ts'
import { leftDrainsAreBack } from './left-drains.ts'
import { endQuiet } from './quiet-end.ts'
import { recordIn } from './turn-events.ts'
import { waysInto } from './ways.ts'
import { createWorker } from './worker.ts'
import { attachShim, type Shim } from '../shim.ts'
import type { Config } from '../../src/contracts/config.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { Identity } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { bellPipe, bellPipeFile, releaseLeftPipes } from '../../src/system/bell-pipe.ts'
import { startHubInBackground } from '../../src/system/background.ts'
import { cautionAbout } from '../../src/contracts/client-versions.ts'
import { systemClock } from '../../src/system/clock.ts'
import { loadConfig } from '../../src/system/config.ts'
import { personaPaths, prepareHome, resolveHome, workerLog, type Home } from '../../src/system/home.ts'
import { requireHub } from '../../src/system/hub-address.ts'
import { connectLocally } from '../../src/system/local-socket.ts'
import { isStopped, processInstance } from '../../src/system/processes.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { readOperatorToken } from '../../src/system/secrets.ts'
import { returnIdleMemory } from '../../src/system/idle-memory.ts'
import { sessionPlace } from '../../src/system/session-place.ts'
import { bothLogs, fileLog, stderrLog } from '../../src/system/stderr-log.ts'
import { VERSION } from '../../src/system/version.ts'
import { watchText } from '../../src/system/watch-text.ts'
import { createBridge } from '../../src/transports/bridge/bridge.ts'
import { ownInstructions } from '../../src/transports/bridge/own-instructions.ts'
import { stdioLines } from '../../src/transports/bridge/stdio-lines.ts'
import { createStandIn } from '../../src/transports/bridge/stand-in.ts'
import { createUpstream } from '../../src/transports/bridge/upstream.ts'
import { TERMINATION_SIGNALS } from '../../src/system/termination.ts'

const env = process.env
const ids = createIds(systemClock, systemRandom)
const transport = stdioLines(process.stdin, process.stdout)
returnIdleMemory()
const respawned = env['TURNBELL_RESPAWN'] === '1'
// With the keeper in between, our parent is its shell; the client is that shell's parent.
const host_pid = Number(env['TURNBELL_HOST_PID'] ?? process.ppid)

interface Place {
  home: Home
  config: Config
  identity: Identity
}

try {
  attend(place())
} catch (error) {
  // A session that was not started for a persona, or a home that is not in order. A worker that ended
  // would be a failed hook on every prompt, so it stays and does nothing.
  stayQuiet(error)
}

function place(): Place {
  const session = sessionPlace(env)
  const home = resolveHome(env, session.home)
  const config = loadConfig(home.config, env)
  const identity = Identity.safeParse(session.persona)
  if (!identity.success) {
    throw new TurnbellError('config_invalid', {
      detail: 'This session acts for no persona: TURNBELL_PERSONA names none.',
      hint: 'Start the client with `turnbell run --persona NAME`, or `turnbell connect` the project.',
    })
  }
  prepareHome(home)
  return { home, config, identity: identity.data }
}

function attend({ home, config, identity }: Place): void {
  const bound = { name: 'claude-code', identity, host_pid }
  const log = fileLog(config.log.level, bound, workerLog(home, identity, 'claude-code'))
  const paths = personaPaths(home, config.tenant_id, identity, env)
  log.info({ respawned, client_session: env['CLAUDE_CODE_SESSION_ID'] }, 'worker started')

  // The person who looks after the daemon looks into its log, not into that of a session.
  const degraded = bothLogs(log, fileLog('warn', bound, paths.log))
  const inbox = sessionInbox({
    socket: env['CLAUDE_CODE_MESSAGING_SOCKET'],
    token: env['CLAUDE_CODE_MESSAGING_TOKEN'],
    clock: systemClock,
    log,
  })
  const pipe = bellPipe(bellPipeFile(home.root, host_pid))
  releaseLeftPipes(home.root)

  const surface = claudeSurface({
    session_id: env['CLAUDE_CODE_SESSION_ID'] ?? null,
    instance_id: processInstance(host_pid),
    ways: waysInto([inbox, pipe], degraded),
    clock: systemClock,
    log,
    degraded,
    respawned,
    interrupted: () => worker.interrupted(),
    isStopped: () => isStopped(host_pid),
  })
  const session = () => surface.session() ?? `claude-code-${host_pid}`
  const standIn = createStandIn({
    ...{ clock: systemClock, log },
    ...(env['TURNBELL_NO_AUTOSTART'] === '1' ? {} : { startHub: () => startHub(home) }),
  })
  const upstream = createUpstream({
    identity,
    session_id: session,
    locate: () => requireHub(home, config),
    operatorToken: () => readOperatorToken(home),
    missed: (away_ms, reached) => standIn.missed(away_ms, reached),
    query: '',
    version: VERSION,
    clock: systemClock,
  })
  const worker = createWorker({
    surface,
    drains: {
      confirm: (drain_id) => bridge.drains.confirm(drain_id),
      release: (signal_ids) => bridge.drains.release(signal_ids),
      settled: () => bridge.drains.settled(),
    },
    clock: systemClock,
    respawned,
    log,
  })
  let shim: Shim | null = null

  const bridge = createBridge({
    upstream,
    transport,
    session_id: session,
    instructions: ownInstructions({ identity, upstream, clock: systemClock }),
    version: VERSION,
    ids,
    clock: systemClock,
    log,
    async answer(call) {
      const output = await worker.answer(call)
      return output === null ? null : { content: [{ type: 'text', text: JSON.stringify(output) }] }
    },
    answerWritten: (call) => worker.answerWritten(call),
    drainWritten: (call, drain) => worker.drainWritten(call, drain),
    onToolsListed: watchRegistry,
    onClose: leave,
  })

  let watching = false
  /** Before the client has its tools a bell would ring an agent that cannot drain. */
  function watchRegistry(): void {
    if (watching) return
    watching = true
    const directory = env['CLAUDE_CONFIG_DIR'] ?? path.join(os.homedir(), '.claude')
    let version: string | undefined
    watchText(path.join(directory, 'sessions', `${host_pid}.json`), (text) => {
      const record = recordIn(text)
      if (record === undefined) return
      surface.registryRead(record)
      if (record?.version === undefined || record.version === version) return
      version = record.version
      const caution = cautionAbout('claude-code', version)
      if (caution !== null) degraded.warn({ version }, `the client is ${caution.what}`)
    })
  }
  // A client that lives already says no hello to a worker that was replaced.
  if (respawned) watchRegistry()

  const giveBack = () => bridge.drains.releaseLeft(session())
  void leftDrainsAreBack(giveBack, { clock: systemClock, log }).then(() => {
    shim = attachShim({
      surface,
      dial: (handlers) => connectLocally(paths.surface_socket, handlers),
      clock: systemClock,
      log,
    })
    surface.open(shim)
  })

  function leave(): void {
    log.info({}, 'the client is gone; worker ends')
    surface.close()
    shim?.close()
    pipe.release()
    systemClock.after(LIMITS.bridge_close_ms, () => process.exit(0))
    void bridge.drains.settled().then(() => process.exit(0))
  }
  for (const os_signal of TERMINATION_SIGNALS) process.once(os_signal, leave)
}

function stayQuiet(error: unknown): void {
  const log = stderrLog('info', { name: 'claude-code' })
  const reason = error instanceof Error ? error : new Error(String(error))
  log.warn({ err: error }, 'this session has no persona; turnbell stays quiet in it')
  const { persona, home } = sessionPlace(env)
  endQuiet({ respawned, persona }, { clock: systemClock, end: () => process.exit(1) })
  createBridge({
    upstream: {
      request: (method) =>
        method === 'tools/list' ? Promise.resolve({ tools: [] }) : Promise.reject(reason),
      checkPersona: () => Promise.resolve(),
      callHere: () => null,
      // Nothing ever changes, and a stream that ends would be opened again.
      listen: () => new Promise(() => {}),
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
      // The waiter of the session does not know that nobody here rings it.
      bellPipe(bellPipeFile(resolveHome(env, home).root, host_pid)).release()
      process.exit(0)
    },
  })
}

function startHub(home: Home): void {
  const bin = path.join(import.meta.dirname, '..', '..', 'turnbell.cjs')
  startHubInBackground(bin, home, env)
}
