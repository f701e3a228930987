/** Composition root of the hub: flags, environment and files in, a running hub out. */
import type { Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import v8 from 'node:v8'
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { ConfigInput } from '../contracts/config.ts'
import { EXIT, exitCodeOf } from '../contracts/errors/exit-codes.ts'
import type { Identity } from '../contracts/ids.ts'
import { FACADES } from '../facades/all.ts'
import { openStores } from '../storage/open.ts'
import { loadFromCheckout } from '../system/git/checkout.ts'
import { systemClock as clock } from '../system/clock.ts'
import { loadConfig } from '../system/config/config.ts'
import { prepareHome, resolveHome } from '../system/config/home.ts'
import { protocolStdout } from '../system/process/protocol-stdout.ts'
import { returnIdleMemory } from '../system/process/idle-memory.ts'
import { newInstance, printProblem } from '../system/process/problem-output.ts'
import { VERSION } from '../system/version.ts'
import type { McpExtend } from '../transports/mcp/extension.ts'
import { openHubLogs, type HubLogs } from './observability/logs.ts'
import { startRecoverableHub, type RecoverableHub } from './restart-on-recovery.ts'
import { serveOverStdio, stdioPersona } from './stdio.ts'
import { TERMINATION_SIGNALS } from '../system/process/termination-signals.ts'

export { startEmbeddedHub } from './embedded/embedded-hub.ts'
export { inspectStore } from '../storage/file/journal/inspect.ts'

const FLAGS = {
  host: { type: 'string' },
  port: { type: 'string' },
  store: { type: 'string' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'behind-proxy': { type: 'boolean' },
  repair: { type: 'boolean' },
  stdio: { type: 'boolean' },
  persona: { type: 'string' },
  create: { type: 'boolean' },
  home: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  // Accepted for compatibility and ignored: the hub always serves events and writes its pid and log.
  daemon: { type: 'boolean' },
  sse: { type: 'boolean' },
} as const

const HELP = `usage: turnbell hub [options]

  --host HOST          address to listen on (127.0.0.1)
  --port PORT          port to listen on (4888, or another if that is in use);
                       0 picks one
  --store URI          file: (default), file:/DIR, memory:
  --tls-cert FILE      certificate, PEM
  --tls-key FILE       private key, PEM
  --behind-proxy       a reverse proxy terminates TLS; allows a public address
  --repair             quarantine damaged journal lines instead of refusing to start
  --stdio              also serve MCP on stdin and stdout, for --persona NAME (or
                       TURNBELL_PERSONA); the ready line is then printed on stderr,
                       and the hub stops when stdin ends
  --create             with --stdio: create the persona if it does not exist
  --home DIR           instead of TURNBELL_HOME or ~/.turnbell
  --json               print the ready line, or an error, as JSON on stdout

Runs in the foreground and prints \`turnbell hub ready http://HOST:PORT\` once it accepts calls.
`

type Flags = ReturnType<typeof parseFlags>

/** `open` is replaced only in benchmarks. */
export async function main(argv: string[], open = openStores): Promise<void> {
  let json = argv.includes('--json')
  const instance = newInstance()
  try {
    const flags = parseFlags(argv)
    json = flags.json === true
    if (flags.help === true) process.stdout.write(HELP)
    else await run(flags, open, instance)
  } catch (error) {
    printProblem(error, json, instance)
    process.exitCode = exitCodeOf(error)
  }
}

async function run(flags: Flags, open: typeof openStores, instance: string): Promise<void> {
  const home = resolveHome(process.env, flags.home)
  const readConfig = () => loadConfig(home.config, process.env, configOf(flags))
  const config = readConfig()
  const persona = flags.stdio === true ? stdioPersona(flags.persona ?? process.env['TURNBELL_PERSONA']) : null
  // Before a plugin is loaded, because it may print.
  const over: Over =
    persona === null
      ? { persona, json: flags.json === true }
      : { persona, create: flags.create === true, home: home.root, output: protocolStdout() }
  // V8 would let the heap grow to four times its live size before a full collection.
  v8.setFlagsFromString('--heap-growing-percent=50')
  prepareHome(home)
  const logs = openHubLogs(home, config.log.level, clock)
  const leaving = leaver(logs)
  exitOnUncaughtException(logs, config.plugins)
  for (const os_signal of TERMINATION_SIGNALS) process.on(os_signal, () => leaving.leave(EXIT.done))
  try {
    const hub = await startRecoverableHub({
      ...{ home, config, readConfig, logs, clock, open, facades: FACADES },
      ...{ env: process.env, repair: flags.repair === true, leaving: leaving.signal },
      extend: await conformanceFixtures(logs),
      onEnd: () => leaving.leave(EXIT.failed),
    })
    announce(hub, over, logs, leaving)
    leaving.started(hub)
    returnIdleMemory()
  } catch (error) {
    const is_leaving = leaving.signal.aborted && error === leaving.signal.reason
    // At level info, because warnings are shown on stderr, where the problem itself is printed.
    logs.log.info(is_leaving ? {} : { err: error, instance }, 'the hub does not start')
    logs.close()
    if (!is_leaving) throw error
  }
}

/** Where the ready line is printed, and whether MCP is served on stdio. */
type Over =
  | { persona: null; json: boolean }
  | { persona: Identity; create: boolean; home: string; output: Writable }

function announce(
  { url, ids, operator_token, current }: RecoverableHub,
  over: Over,
  { log }: HubLogs,
  { leave }: Leaver,
): void {
  const ready = `turnbell hub ready ${url}\n`
  if (over.persona === null) {
    const document = { status: 'ready', url, pid: process.pid }
    process.stdout.write(over.json ? `${JSON.stringify(document)}\n` : ready)
    return
  }
  process.stderr.write(ready)
  const streams = { input: process.stdin, output: over.output }
  const { create, home } = over
  let code: number = EXIT.done
  serveOverStdio({
    ...{ create, home },
    onRefused(refusal) {
      printProblem(refusal, false)
      code = exitCodeOf(refusal)
    },
    ...{ hub: current, persona: over.persona, operator_token, version: VERSION, ids, clock, log, streams },
    onClose: () => leave(code),
  })
}

/** Loads the methods that the official conformance suite expects, in a checkout with TURNBELL_CONFORMANCE=1. */
async function conformanceFixtures({ log }: HubLogs): Promise<McpExtend | undefined> {
  if (process.env['TURNBELL_CONFORMANCE'] !== '1') return undefined
  const fixtures = await loadFromCheckout('test/conformance/load.mjs', import.meta.url)
  if (fixtures === null) log.warn({}, 'TURNBELL_CONFORMANCE ignored: no conformance fixtures found')
  return (fixtures as { extend: McpExtend } | null)?.extend
}

/** The stack of an uncaught exception need not show that a plugin threw it, so the message names all plugins. */
function exitOnUncaughtException(logs: HubLogs, plugins: readonly string[]): void {
  const suspects =
    plugins.length === 0 ? '' : `; thrown by the hub or one of its plugins: ${plugins.join(', ')}`
  // A bug. All acknowledged changes are on disk, and a supervisor restarts the process.
  process.on('uncaughtException', (err) => {
    logs.log.error({ err }, `uncaught exception; exiting${suspects}`)
    logs.flush()
    process.exit(EXIT.failed)
  })
  // The reader of the output may be gone; the hub continues for its other clients.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

interface Leaver {
  leave: (code: number) => void
  /** Aborted by the first call of `leave`. */
  signal: AbortSignal
  started: (hub: RecoverableHub) => void
}

/** Stops everything and exits, once. During a start, it waits until the start has succeeded or failed. */
function leaver(logs: HubLogs): Leaver {
  let exit_code: number | null = null
  let running: RecoverableHub | null = null
  const leaving = new AbortController()
  const go = (code: number, hub: RecoverableHub) => {
    logs.log.info({}, 'stopping')
    hub.stop().then(
      () => {
        logs.close()
        process.exit(code)
      },
      (err: unknown) => {
        logs.log.error({ err }, 'hub did not stop cleanly')
        logs.flush()
        process.exit(EXIT.failed)
      },
    )
  }
  return {
    signal: leaving.signal,
    leave(code) {
      if (exit_code !== null) return
      exit_code = code
      leaving.abort()
      if (running !== null) go(code, running)
    },
    started(hub) {
      running = hub
      if (exit_code !== null) go(exit_code, hub)
    },
  }
}

function parseFlags(argv: string[]) {
  try {
    return parseArgs({ args: argv, options: FLAGS, strict: true, allowPositionals: false }).values
  } catch (cause) {
    throw new TurnbellError('usage_invalid', {
      detail: cause instanceof Error ? cause.message : String(cause),
      hint: 'turnbell hub --help',
      cause,
    })
  }
}

function configOf(flags: Flags): ConfigInput {
  const hub: NonNullable<ConfigInput['hub']> = {}
  if (flags.host !== undefined) hub.host = flags.host
  if (flags.port !== undefined) hub.port = portOf(flags.port)
  if (flags.store !== undefined) hub.store = flags.store
  if (flags['tls-cert'] !== undefined) hub.tls_cert = flags['tls-cert']
  if (flags['tls-key'] !== undefined) hub.tls_key = flags['tls-key']
  if (flags['behind-proxy'] !== undefined) hub.behind_proxy = flags['behind-proxy']
  return { hub }
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new TurnbellError('usage_invalid', {
    detail: `--port: expected a number from 0 to 65535, found ${JSON.stringify(text)}`,
    hint: 'turnbell hub --help',
  })
}
