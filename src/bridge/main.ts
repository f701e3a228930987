/**
 * `turnbell mcp`: serves MCP over stdio to one persona's client. This is the composition root of the bridge.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArguments, narrowingQuery } from './arguments.ts'
import { createBridge } from './bridge.ts'
import { codexThread, threadEventOf } from './codex-thread.ts'
import { createBoundCheck, type RequestedBounds } from './bound-check.ts'
import { finalPersonaCheck, settleAndEndSession } from './shutdown.ts'
import { ownInstructions } from './own-instructions.ts'
import type { OpenDrain } from './lease-calls.ts'
import { personaRefusal } from './persona-check.ts'
import { createPreferredHub } from './hub/preferred-hub.ts'
import { removedHome } from './removed-home.ts'
import { StdioLines } from './stdio/stdio-lines.ts'
import type { ToolCall } from './tool-call.ts'
import { createHubFallback, type EmbeddedHub } from './hub/fallback.ts'
import { createUpstream } from './hub/upstream.ts'
import type * as HubProgram from '../hub/main.ts'
import type { Config } from '../contracts/config.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { exitCodeOf } from '../contracts/errors/exit-codes.ts'
import { Identity, type SessionId } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import { hubEnvironment, startHubInBackground } from '../system/process/background.ts'
import { timestamp } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import { systemClock } from '../system/clock.ts'
import { codexRunFiles } from '../system/clients/codex-run-files.ts'
import { loadConfig } from '../system/config/config.ts'
import { type Home, isHome, personaPaths, prepareHome } from '../system/config/home.ts'
import { findHub, requireHub, requireHubUrl } from '../system/config/hub-discovery.ts'
import { callingSession } from '../system/clients/opencode-run-files.ts'
import { printProblem } from '../system/process/problem-output.ts'
import { createIds, systemRandom } from '../system/random.ts'
import { protocolStdout } from '../system/process/protocol-stdout.ts'
import { readOperatorToken } from '../system/config/secrets.ts'
import { returnIdleMemory } from '../system/process/idle-memory.ts'
import { stderrLog } from '../system/files/json-log.ts'
import { VERSION } from '../system/version.ts'
import { resolveWiredHome } from '../system/clients/wired-home.ts'
import { TERMINATION_SIGNALS } from '../system/process/termination-signals.ts'

interface Settings {
  home: Home
  config: Config
  identity: Identity
  /** The client, if its calls contain more than those of other clients. */
  client: 'codex' | 'opencode' | null
  /** The session whose turns a shim reports, if this bridge was started for exactly one. */
  session: string | undefined
  /** Hub address given on the command line; then no background hub is started for this home. */
  hub: string | undefined
  autostart: boolean
  /** Creates an unknown persona with its first call. */
  create: boolean
  /** Whether this process may run an embedded hub. */
  may_embed: boolean
  facets: readonly string[] | undefined
  query: string
  bounds: RequestedBounds
}

export async function main(argv: string[]): Promise<void> {
  try {
    serve(settingsFrom(argv, process.env))
    returnIdleMemory()
  } catch (error) {
    printProblem(error, argv.includes('--json'))
    process.exitCode = exitCodeOf(error)
  }
}

function serve(settings: Settings): void {
  const { home, config, identity, session, autostart, create, facets, query, bounds } = settings
  /** 0 unless the persona was refused. */
  let exit_code = 0
  const ids = createIds(systemClock, systemRandom)
  const log = stderrLog(config.log.level, { name: 'bridge', identity })
  const sessions = createSessionIds(settings, `mcp-${ids.next()}`, log)
  const hub = createHubLocator(settings, log)
  const unknownPersona = personaRefusal({ identity, home: home.root }, (refusal) => {
    printProblem(refusal, false)
    exit_code = exitCodeOf(refusal)
  })
  const upstream = createUpstream({
    identity,
    session_id: () => sessions.current(),
    locate: () => hub.locate(),
    operatorToken: () => readOperatorToken(home),
    inProcess: () => hub.fallback.call(),
    removedHome: removedHome(home.root, () => isHome(home)),
    onHubMissing: (away_ms, reached) => hub.onHubMissing(away_ms, reached),
    ...(create ? {} : { unknownPersona }),
    ...(facets === undefined ? {} : { facets }),
    query,
    version: VERSION,
    clock: systemClock,
  })
  const bridge = createBridge({
    upstream,
    onToolsListed: createBoundCheck({
      bounds,
      read: async () => readDocument(hub.locate(), readOperatorToken(home)),
      warn: (line) => log.warn({}, line),
    }),
    transport: new StdioLines(process.stdin, protocolStdout(), {
      linger: { clock: systemClock, within_ms: LIMITS.bridge_linger_ms },
    }),
    session_id: (call) => sessions.of(call),
    instructions: ownInstructions({ identity, upstream, clock: systemClock }),
    version: VERSION,
    ids,
    clock: systemClock,
    log,
    payload_bytes_shown: LIMITS.payload_bytes_shown,
    ...(session === undefined ? {} : { drainWritten: confirmAtNextDrain }),
    onClose: () => void finalPersonaCheck(upstream, autostart ? LIMITS.bridge_wait_ms : 0).then(shutDown),
  })

  /**
   * Confirms a drain at the next one. The end of the turn settles the last one, so that its signals are not
   * lost if the agent crashes because of them.
   */
  let unconfirmed: OpenDrain | null = null
  function confirmAtNextDrain(_call: ToolCall, drain: OpenDrain): void {
    if (unconfirmed !== null) bridge.drains.confirm(unconfirmed.drain_id)
    unconfirmed = drain
  }

  /** Sends outstanding reports to the hub, within a time limit because the client may be gone. */
  function shutDown(): void {
    systemClock.after(hub.fallback.url() === null ? LIMITS.bridge_close_ms : LIMITS.embedded_close_ms, () =>
      process.exit(exit_code),
    )
    // A session that another process started continues without this one, or its shim reports its end.
    const settled = sessions.isOwn()
      ? settleAndEndSession(bridge, upstream, systemClock)
      : bridge.drains.settled()
    void settled.then(() => hub.fallback.close()).finally(() => process.exit(exit_code))
  }
  for (const os_signal of TERMINATION_SIGNALS) process.once(os_signal, shutDown)
}

/**
 * The session of the client's calls. `own` is used until a call contains a session id: one process is one run of
 * the client.
 */
function createSessionIds({ client, session, home, config, identity }: Settings, own: SessionId, log: Log) {
  const { run_dir } = personaPaths(home, config.tenant_id, identity, process.env)
  let session_id = session ?? own

  /** Reports the call's thread to the persona's shim, which cannot find out otherwise which thread acts for the persona. */
  function reportThread(call: ToolCall): SessionId | null {
    const thread = codexThread(call)
    const event = thread === null ? null : threadEventOf(thread, call, timestamp(systemClock))
    try {
      if (event !== null) codexRunFiles(run_dir).tell(event)
    } catch (error) {
      log.warn({ err: error }, 'reporting the thread to the shim failed')
    }
    return thread?.thread_id ?? null
  }

  return {
    current: () => session_id,
    isOwn: () => session_id === own,
    /** A call without a session id belongs to the last known session. */
    of(call: ToolCall): SessionId {
      if (client === 'codex') session_id = reportThread(call) ?? session_id
      // opencode's calls contain no session id.
      if (client === 'opencode') {
        const here = { env: process.env, directory: process.cwd() }
        session_id = callingSession(run_dir, here)?.session_id ?? session_id
      }
      return session_id
    },
  }
}

/** Finds the hub: the embedded one, the preferred one, or the one of the home. */
function createHubLocator({ home, config, hub, autostart, may_embed }: Settings, log: Log) {
  const readConfig = () => loadConfig(home.config, hubEnvironment(process.env))
  const fallback = createHubFallback({
    clock: systemClock,
    log,
    ...(autostart ? { startHub: () => startHub(home) } : {}),
    // The queue of a hub given by its address is stored elsewhere.
    ...(may_embed && config.hub.url === undefined
      ? { embed: (onEnd) => embed({ home, readConfig, onEnd }) }
      : {}),
    ...(hub === undefined ? {} : { preferredResponds: () => isAlive(hub) }),
  })
  const preferred =
    hub === undefined || !may_embed
      ? null
      : createPreferredHub({
          url: hub,
          clock: systemClock,
          responds: () => isAlive(hub),
          ownUrl: () => findHub(home, config),
        })
  return {
    fallback,
    locate: () => fallback.url() ?? preferred?.locate() ?? requireHub(home, config, hub),
    onHubMissing(away_ms: number, reached: boolean): void {
      if (preferred?.onHubMissing() !== true) fallback.onHubMissing(away_ms, reached)
    },
  }
}

function startHub(home: Home): void {
  prepareHome(home)
  const bin = path.join(import.meta.dirname, 'turnbell.cjs')
  startHubInBackground(bin, home, process.env)
}

/** Imports the hub only when it is needed, because the bridge starts with every session of a client. */
async function embed(options: {
  home: Home
  readConfig: () => Config
  onEnd: () => void
}): Promise<EmbeddedHub> {
  prepareHome(options.home)
  const file = pathToFileURL(path.join(import.meta.dirname, 'hub.js')).href
  const { startEmbeddedHub } = (await import(file)) as typeof HubProgram
  return startEmbeddedHub({ ...options, clock: systemClock, env: hubEnvironment(process.env) })
}

async function readDocument(url: string, token: string | null): Promise<unknown> {
  const answer = await fetch(`${url.replace(/\/+$/, '')}/openapi.json`, {
    headers: { authorization: `Bearer ${token ?? ''}` },
    signal: AbortSignal.timeout(LIMITS.hub_answer_ms),
  })
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`)
  return answer.json()
}

async function isAlive(url: string): Promise<boolean> {
  const abort = AbortSignal.timeout(LIMITS.bridge_follow_ms)
  const answer = await fetch(`${url.replace(/\/+$/, '')}/health`, { signal: abort }).catch(() => null)
  return answer?.ok === true
}

function settingsFrom(argv: string[], env: NodeJS.ProcessEnv): Settings {
  const values = parseArguments(argv)
  const home = resolveWiredHome(env, values.home, () => process.cwd())
  const config = loadConfig(home.config, env)
  const { hub = values['prefer-daemon'] } = values
  if (hub !== undefined) requireHubUrl(hub, values.hub === undefined ? '--prefer-daemon' : '--hub')
  return {
    home,
    config,
    identity: identityFrom(values.persona ?? env['TURNBELL_PERSONA']),
    client: values.client === 'codex' || values.client === 'opencode' ? values.client : null,
    session: values.session,
    hub,
    autostart: values['no-autostart'] !== true && env['TURNBELL_NO_AUTOSTART'] !== '1' && hub === undefined,
    create: values.create === true,
    may_embed: values.hub === undefined,
    facets: values.facet ?? (env['TURNBELL_TOOLS'] ? config.mcp.expose : undefined),
    query: narrowingQuery(values),
    bounds: { facades: values.facade ?? [], facets: values.facet ?? [] },
  }
}

function identityFrom(named: string | undefined): Identity {
  const identity = Identity.safeParse(named)
  if (identity.success) return identity.data
  throw new TurnbellError('usage_invalid', {
    detail:
      named === undefined
        ? 'The persona is missing.'
        : `${JSON.stringify(named)} is not a persona's name: ${identity.error.issues[0]?.message ?? ''}`,
    hint: 'Use `turnbell mcp --persona NAME`, or set TURNBELL_PERSONA.',
  })
}
