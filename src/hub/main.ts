/** Composition root of the hub: flags, environment and files in, a running hub out. */
import type { Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { TurnbellError } from '../contracts/errors.ts'
import type { ConfigInput } from '../contracts/config.ts'
import { EXIT, exitCodeOf } from '../contracts/exit-codes.ts'
import type { Identity } from '../contracts/ids.ts'
import { FACADES } from '../facades/all.ts'
import { openStores } from '../storage/open.ts'
import { loadFromCheckout } from '../system/checkout.ts'
import { systemClock as clock } from '../system/clock.ts'
import { loadConfig } from '../system/config.ts'
import { prepareHome, resolveHome } from '../system/home.ts'
import { takeStdout } from '../system/own-stdout.ts'
import { returnIdleMemory } from '../system/idle-memory.ts'
import { newInstance, printProblem } from '../system/problem-output.ts'
import { VERSION } from '../system/version.ts'
import type { McpExtend } from '../transports/mcp/extension.ts'
import { openHubLogs, type HubLogs } from './logs.ts'
import { startRenewed, type RenewedHub } from './renewal.ts'
import { serveOverStdio, stdioPersona } from './stdio.ts'
import { TERMINATION_SIGNALS } from '../system/termination.ts'

export { standIn } from './stand-in.ts'

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
  // The plain flag form of older set-ups: the hub always serves events and writes its pid and log.
  daemon: { type: 'boolean' },
  sse: { type: 'boolean' },
} as const

const HELP = `usage: turnbell hub [options]

  --host HOST          address to listen on (127.0.0.1)
  --port PORT          port to listen on (4888, or another where that is taken);
                       0 picks one
  --store URI          file: (default), file:/DIR, memory:
  --tls-cert FILE      certificate, PEM
  --tls-key FILE       private key, PEM
  --behind-proxy       a proxy in front ends TLS; allows an open address without it
  --repair             set damaged journal lines aside instead of refusing to start
  --stdio              speak MCP on stdin and stdout as well, for --persona NAME (or
                       TURNBELL_PERSONA); the ready line then goes to stderr, and the
                       hub stops when stdin ends
  --create             with --stdio: make the persona where there is none
  --home DIR           instead of TURNBELL_HOME or ~/.turnbell
  --json               the ready line, or a refusal, as an object on stdout

Runs in the foreground and prints \`turnbell hub ready http://HOST:PORT\` once it takes calls.
`

type Flags = ReturnType<typeof parseFlags>

/** `open` is another than the product's only in benchmarks. */
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
  // Before a plugin is loaded, which may print.
  const over: Over =
    persona === null
      ? { persona, json: flags.json === true }
      : { persona, create: flags.create === true, home: home.root, output: takeStdout() }
  prepareHome(home)
  const logs = openHubLogs(home, config.log.level, clock)
  const leaving = leaver(logs)
  whenThingsBreak(logs, config.plugins)
  for (const os_signal of TERMINATION_SIGNALS) process.on(os_signal, () => leaving.leave(EXIT.done))
  try {
    const hub = await startRenewed({
      ...{ home, config, readConfig, logs, clock, open, facades: FACADES },
      ...{ env: process.env, repair: flags.repair === true, leaving: leaving.signal },
      extend: await conformanceFixtures(logs),
      onEnd: () => leaving.leave(EXIT.failed),
    })
    announce(hub, over, logs, leaving)
    leaving.started(hub)
    returnIdleMemory()
  } catch (error) {
    const told_to_leave = leaving.signal.aborted && error === leaving.signal.reason
    // Not louder: the hub shows warnings on stderr, where the problem itself will stand.
    logs.log.info(told_to_leave ? {} : { err: error, instance }, 'the hub does not start')
    logs.close()
    if (!told_to_leave) throw error
  }
}

/** Where it says that it is ready, and whether it speaks MCP with one client as well. */
type Over =
  | { persona: null; json: boolean }
  | { persona: Identity; create: boolean; home: string; output: Writable }

function announce(
  { url, ids, operator_token, current }: RenewedHub,
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

/** What the official conformance suite looks for on a hub, in a checkout that is told to offer it. */
async function conformanceFixtures({ log }: HubLogs): Promise<McpExtend | undefined> {
  if (process.env['TURNBELL_CONFORMANCE'] !== '1') return undefined
  const fixtures = await loadFromCheckout('test/conformance/load.mjs', import.meta.url)
  if (fixtures === null) log.warn({}, 'TURNBELL_CONFORMANCE is for checkouts; this one has no fixtures')
  return (fixtures as { extend: McpExtend } | null)?.extend
}

/** What a plugin throws when nobody waits for it has a stack that need not say whose it is. */
function whenThingsBreak(logs: HubLogs, plugins: readonly string[]): void {
  const suspects = plugins.length === 0 ? '' : `; it or one of its plugins threw it: ${plugins.join(', ')}`
  // A bug: what was promised is on disk, and a supervisor starts us again.
  process.on('uncaughtException', (err) => {
    logs.log.error({ err }, `an uncaught exception ends the hub${suspects}`)
    logs.flush()
    process.exit(EXIT.failed)
  })
  // Whoever read our output may be gone; the hub serves others, too.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

interface Leaver {
  leave: (code: number) => void
  /** Aborted with the first call of it. */
  signal: AbortSignal
  started: (hub: RenewedHub) => void
}

/** Stops everything and ends the process, once. Asked while the hub still starts, it waits for that, or for its giving up. */
function leaver(logs: HubLogs): Leaver {
  let asked: number | null = null
  let running: RenewedHub | null = null
  const leaving = new AbortController()
  const go = (code: number, hub: RenewedHub) => {
    logs.log.info({}, 'stopping')
    hub.stop().then(
      () => {
        logs.close()
        process.exit(code)
      },
      (err: unknown) => {
        logs.log.error({ err }, 'the hub did not stop cleanly')
        logs.flush()
        process.exit(EXIT.failed)
      },
    )
  }
  return {
    signal: leaving.signal,
    leave(code) {
      if (asked !== null) return
      asked = code
      leaving.abort()
      if (running !== null) go(code, running)
    },
    started(hub) {
      running = hub
      if (asked !== null) go(asked, hub)
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
