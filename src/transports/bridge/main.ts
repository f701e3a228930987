/** `turnbell mcp`: MCP over stdio for one persona's client. The composition root of the bridge. */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { argumentsIn, queryOf } from './arguments.ts'
import { createBridge } from './bridge.ts'
import { codexThread, newsOfCall } from './codex-thread.ts'
import { createNameCheck, type NamedBounds } from './known-names.ts'
import { lastCheck, sayGoodbye } from './goodbye.ts'
import { ownInstructions } from './own-instructions.ts'
import type { OpenDrain } from './drains.ts'
import { personaRefusal } from './persona-check.ts'
import { createPreferredHub } from './preferred-hub.ts'
import { removedHome } from './removed-home.ts'
import { stdioLines } from './stdio-lines.ts'
import type { ToolCall } from './tool-calls.ts'
import { createStandIn, type Embedded } from './stand-in.ts'
import { createUpstream } from './upstream.ts'
import type * as HubProgram from '../../hub/main.ts'
import type { Config } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { exitCodeOf } from '../../contracts/exit-codes.ts'
import { Identity, type SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { hubEnvironment, startHubInBackground } from '../../system/background.ts'
import { timestamp } from '../../ports/clock.ts'
import { systemClock } from '../../system/clock.ts'
import { codexPlace } from '../../system/codex-place.ts'
import { loadConfig } from '../../system/config.ts'
import { type Home, isHome, personaPaths, prepareHome } from '../../system/home.ts'
import { findHub, requireHub, requireHubUrl } from '../../system/hub-address.ts'
import { callingSession } from '../../system/opencode-place.ts'
import { printProblem } from '../../system/problem-output.ts'
import { createIds, systemRandom } from '../../system/random.ts'
import { takeStdout } from '../../system/own-stdout.ts'
import { readOperatorToken } from '../../system/secrets.ts'
import { returnIdleMemory } from '../../system/idle-memory.ts'
import { stderrLog } from '../../system/stderr-log.ts'
import { VERSION } from '../../system/version.ts'
import { resolveWiredHome } from '../../system/wired-home.ts'
import { TERMINATION_SIGNALS } from '../../system/termination.ts'

interface Settings {
  home: Home
  config: Config
  identity: Identity
  /** The client, where its calls say more than others do. */
  client: 'codex' | 'opencode' | null
  /** The session whose turns a shim reports, where this bridge was started for exactly one. */
  session: string | undefined
  /** An address given on the command line: then no lasting hub of this home is started in its place. */
  hub: string | undefined
  autostart: boolean
  /** Makes the persona with its first call, where there is none. */
  create: boolean
  /** May be the hub itself while none is there. */
  embeds: boolean
  facets: readonly string[] | undefined
  query: string
  named: NamedBounds
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

function serve({ home, config, identity, client, session, hub, ...settings }: Settings): void {
  const { autostart, create, embeds, facets, query, named } = settings
  /** 0 unless the persona was refused. */
  let exit_code = 0
  const ids = createIds(systemClock, systemRandom)
  const log = stderrLog(config.log.level, { name: 'bridge', identity })
  // One process is one run of the client: a name that no other run has, until a call brings a better one.
  const own_session = `mcp-${ids.next()}`
  let session_id = session ?? own_session
  const { run_dir } = personaPaths(home, config.tenant_id, identity, process.env)
  const readConfig = () => loadConfig(home.config, hubEnvironment(process.env))
  const standIn = createStandIn({
    ...{ clock: systemClock, log },
    ...(autostart ? { startHub: () => startHub(home) } : {}),
    // A hub that was named by its address keeps its queue where it is.
    ...(embeds && config.hub.url === undefined
      ? { embed: (onEnd) => embed({ home, readConfig, onEnd }) }
      : {}),
    ...(hub === undefined ? {} : { namedAnswers: () => isAlive(hub) }),
  })
  const preferred =
    hub === undefined || !embeds
      ? null
      : createPreferredHub({
          ...{ url: hub, clock: systemClock },
          answers: () => isAlive(hub),
          own: () => findHub(home, config),
        })
  const locate = () => standIn.url() ?? preferred?.locate() ?? requireHub(home, config, hub)
  const upstream = createUpstream({
    identity,
    session_id: () => session_id,
    locate,
    operatorToken: () => readOperatorToken(home),
    here: () => standIn.call(),
    removedHome: removedHome(home.root, () => isHome(home)),
    missed(away_ms, reached) {
      if (preferred?.missed() !== true) standIn.missed(away_ms, reached)
    },
    ...(create
      ? {}
      : {
          unknownPersona: personaRefusal({ identity, home: home.root }, (refusal) => {
            printProblem(refusal, false)
            exit_code = exitCodeOf(refusal)
          }),
        }),
    ...(facets === undefined ? {} : { facets }),
    query,
    version: VERSION,
    clock: systemClock,
  })
  const bridge = createBridge({
    upstream,
    onToolsListed: createNameCheck({
      named,
      read: async () => readDocument(locate(), readOperatorToken(home)),
      warn: (line) => log.warn({}, line),
    }),
    transport: stdioLines(process.stdin, takeStdout(), {
      linger: { clock: systemClock, within_ms: LIMITS.bridge_linger_ms },
    }),
    session_id: sessionOf,
    instructions: ownInstructions({ identity, upstream, clock: systemClock }),
    version: VERSION,
    ids,
    clock: systemClock,
    log,
    payload_bytes_shown: LIMITS.payload_bytes_shown,
    ...(session === undefined ? {} : { drainWritten: heldUntilNext }),
    onClose: () => void lastCheck(upstream, autostart ? LIMITS.bridge_wait_ms : 0).then(leave),
  })

  /**
   * The end of the turn settles what was drained in it, so that an agent which dies of it is not the last that
   * ever saw it. A next drain shows as well that the former has arrived.
   */
  let held: OpenDrain | null = null
  function heldUntilNext(_call: ToolCall, drain: OpenDrain): void {
    if (held !== null) bridge.drains.confirm(held.drain_id)
    held = drain
  }

  /** A call that says nothing of it belongs to the one that was heard of last. */
  function sessionOf(call: ToolCall): SessionId {
    if (client === 'codex') session_id = actsInThread(call) ?? session_id
    // opencode says in no call which session it comes from.
    if (client === 'opencode') {
      const here = { env: process.env, directory: process.cwd() }
      session_id = callingSession(run_dir, here)?.session_id ?? session_id
    }
    return session_id
  }

  /** Tells the persona's shim of it on the way: nothing else says which of many threads acts for whom. */
  function actsInThread(call: ToolCall): SessionId | null {
    const thread = codexThread(call)
    const news = thread === null ? null : newsOfCall(thread, call, timestamp(systemClock))
    try {
      if (news !== null) codexPlace(run_dir).tell(news)
    } catch (error) {
      log.warn({ err: error }, 'the shim was not told of the thread')
    }
    return thread?.thread_id ?? null
  }

  /** Says what is still owed to the hub, but never keeps a client waiting that is gone. */
  function leave(): void {
    systemClock.after(standIn.url() === null ? LIMITS.bridge_close_ms : LIMITS.stand_in_close_ms, () =>
      process.exit(exit_code),
    )
    // A session that another has named goes on without this process, or its shim says when it is over.
    const said =
      session_id === own_session ? sayGoodbye(bridge, upstream, systemClock) : bridge.drains.settled()
    void said.then(() => standIn.close()).finally(() => process.exit(exit_code))
  }
  for (const os_signal of TERMINATION_SIGNALS) process.once(os_signal, leave)
}

function startHub(home: Home): void {
  prepareHome(home)
  const bin = path.join(import.meta.dirname, 'turnbell.cjs')
  startHubInBackground(bin, home, process.env)
}

/** The hub's program is only loaded where it is needed: the bridge starts with every session of a client. */
async function embed(needs: { home: Home; readConfig: () => Config; onEnd: () => void }): Promise<Embedded> {
  prepareHome(needs.home)
  const file = pathToFileURL(path.join(import.meta.dirname, 'hub.js')).href
  const { standIn } = (await import(file)) as typeof HubProgram
  return standIn({ ...needs, clock: systemClock, env: hubEnvironment(process.env) })
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
  const values = argumentsIn(argv)
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
    embeds: values.hub === undefined,
    facets: values.facet ?? (env['TURNBELL_TOOLS'] ? config.mcp.expose : undefined),
    query: queryOf(values),
    named: { facades: values.facade ?? [], facets: values.facet ?? [] },
  }
}

function identityFrom(named: string | undefined): Identity {
  const identity = Identity.safeParse(named)
  if (identity.success) return identity.data
  throw new TurnbellError('usage_invalid', {
    detail:
      named === undefined
        ? 'No persona is named.'
        : `${JSON.stringify(named)} names no persona: ${identity.error.issues[0]?.message ?? ''}`,
    hint: 'Say for whom: `turnbell mcp --persona NAME`, or set TURNBELL_PERSONA.',
  })
}
