/** Composition root of the hub: flags, environment and files in, a running hub out. */
import fs from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { TurnbellError } from '../contracts/errors.ts'
import type { Config, ConfigInput } from '../contracts/config.ts'
import { EXIT, exitCodeOf } from '../contracts/exit-codes.ts'
import { FACADES } from '../facades/all.ts'
import { timestamp } from '../ports/clock.ts'
import { openStores, type Stores } from '../storage/open.ts'
import { systemClock as clock } from '../system/clock.ts'
import { loadConfig } from '../system/config.ts'
import { lockDirectory, type DirectoryLock } from '../system/directory-lock.ts'
import { prepareHome, resolveHome, type Home } from '../system/home.ts'
import { runningHub, type HubPid } from '../system/hub-address.ts'
import { newInstance, printProblem } from '../system/problem-output.ts'
import { createIds, systemRandom } from '../system/random.ts'
import { ensureSecrets } from '../system/secrets.ts'
import { VERSION } from '../system/version.ts'
import { takeInConfigured } from './configured-personas.ts'
import { exposeAnew, grantsOf, warnOfUnknown } from './exposure.ts'
import { createHub, type Hub } from './hub.ts'
import { openHubLogs, type HubLogs } from './logs.ts'
import { listen, type HubServer, type OwnHosts } from './server.ts'
import { serveOverStdio, stdioPersona } from './stdio.ts'
import { replaceFile } from '../system/replace-file.ts'
import { watchText } from '../system/watch-text.ts'

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
  home: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  // The plain flag form of older set-ups: the hub always serves events and writes its pid and log.
  daemon: { type: 'boolean' },
  sse: { type: 'boolean' },
} as const

const HELP = `usage: turnbell hub [options]

  --host HOST          address to listen on (127.0.0.1)
  --port PORT          port to listen on (4888); 0 picks one
  --store URI          file: (default), file:/DIR, memory:
  --tls-cert FILE      certificate, PEM
  --tls-key FILE       private key, PEM
  --behind-proxy       a proxy in front ends TLS; allows an open address without it
  --repair             set damaged journal lines aside instead of refusing to start
  --stdio              speak MCP on stdin and stdout as well, for --persona NAME (or
                       TURNBELL_PERSONA); the ready line then goes to stderr, and the
                       hub stops when stdin ends
  --home DIR           instead of TURNBELL_HOME or ~/.turnbell
  --json               a refusal as a problem object on stdout

Runs in the foreground and prints \`turnbell hub ready http://HOST:PORT\` once it takes calls.
`

type Flags = ReturnType<typeof parseFlags>

/** `open` is another than the product's only in the benchmark that measures what the syncs cost. */
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

/** What has been opened so far, to be closed again in the opposite order. */
interface Opened {
  logs: HubLogs | null
  lock: DirectoryLock | null
  stores: Stores | null
  hub: Hub | null
  server: HubServer | null
  /** Follows the configuration. */
  config: { close(): void } | null
}

async function run(flags: Flags, open: typeof openStores, instance: string): Promise<void> {
  const home = resolveHome(process.env, flags.home)
  const config = loadConfig(home.config, process.env, configOf(flags))
  prepareHome(home)
  const opened: Opened = { logs: null, lock: null, stores: null, hub: null, server: null, config: null }
  try {
    await start(home, config, flags, opened, open)
  } catch (error) {
    // Not louder: the hub shows warnings on stderr, where the problem itself will stand.
    opened.logs?.log.info({ err: error, instance }, 'the hub does not start')
    await closeAll(home, opened)
    throw error
  }
}

async function start(
  home: Home,
  config: Config,
  flags: Flags,
  opened: Opened,
  open: typeof openStores,
): Promise<void> {
  const persona = flags.stdio === true ? stdioPersona(flags.persona ?? process.env['TURNBELL_PERSONA']) : null
  const logs = (opened.logs = openHubLogs(home, config.log.level, clock))
  const { log } = logs
  const leaving = leaver(home, opened)
  const { leave } = leaving
  whenThingsBreak(logs)
  for (const os_signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(os_signal, () => leave(EXIT.done))
  opened.lock = await lockHome(home, (err) => {
    log.error({ err }, 'the lock of this home was taken away; the hub stops')
    leave(EXIT.failed)
  })
  const secrets = ensureSecrets(home)
  const ids = createIds(clock, systemRandom)
  opened.stores = await open(config.hub.store, {
    ...{ clock, log, hub_dir: home.hub_dir, repair: flags.repair === true },
    // Unable to write, the hub stays up to say so. Fenced, it has no business here any more.
    onFatal(error) {
      if (error.code === 'store_fenced') leave(EXIT.failed)
    },
  })
  const own: OwnHosts = { list: [] }
  const hub = (opened.hub = await createHub({
    ...{ tenant_id: config.tenant_id, version: VERSION, secrets, facades: FACADES, clock, ids, log },
    stores: opened.stores,
    grants: grantsOf(config),
    line: (line) => logs.dispatch(line),
    ownHosts: () => own.list,
  }))
  warnOfUnknown(hub.kernel, log)
  await takeInConfigured(hub.personas, config.personas, log)
  const server = (opened.server = await listen(hub, listenSettings(config), own, VERSION, clock))
  writePid(home, { pid: process.pid, url: server.url, started_at: timestamp(clock) })
  log.info({ url: server.url, version: VERSION, store: config.hub.store, home: home.root }, 'ready')
  const ready = `turnbell hub ready ${server.url}\n`
  if (persona === null) process.stdout.write(ready)
  else {
    process.stderr.write(ready)
    const { operator_token } = secrets
    const streams = { input: process.stdin, output: process.stdout }
    serveOverStdio({
      ...{ url: server.url, persona, operator_token, version: VERSION, ids, clock, log, streams },
      onClose: () => leave(EXIT.done),
    })
  }
  opened.config = watchText(home.config, () =>
    exposeAnew(hub.kernel, () => loadConfig(home.config, process.env, configOf(flags)), log),
  )
  leaving.started()
}

/** One hub per home. The refusal names the process that holds it, and where that one answers. */
async function lockHome(home: Home, onLost: (error: Error) => void): Promise<DirectoryLock> {
  try {
    return await lockDirectory({ lock: home.hub_lock, what: 'A hub', onLost })
  } catch (error) {
    const other = runningHub(home)
    if (!(error instanceof TurnbellError) || other === null) throw error
    throw new TurnbellError('already_running', {
      detail: `${error.detail}, and answers at ${other.url}`,
      hint: `Use that hub, or stop it first (kill ${other.pid}), or choose another home with --home.`,
      cause: error,
    })
  }
}

function whenThingsBreak(logs: HubLogs): void {
  // A bug: what was promised is on disk, and a supervisor starts us again.
  process.on('uncaughtException', (err) => {
    logs.log.error({ err }, 'an uncaught exception ends the hub')
    logs.flush()
    process.exit(EXIT.failed)
  })
  // Whoever read our output may be gone; the hub serves others, too.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

/** Stops everything and ends the process, once. Asked while the hub still starts, it waits for that. */
function leaver(home: Home, opened: Opened): { leave: (code: number) => void; started: () => void } {
  let asked: number | null = null
  let running = false
  const go = (code: number) => {
    opened.logs?.log.info({}, 'stopping')
    closeAll(home, opened).then(
      () => process.exit(code),
      (err: unknown) => {
        opened.logs?.log.error({ err }, 'the hub did not stop cleanly')
        opened.logs?.flush()
        process.exit(EXIT.failed)
      },
    )
  }
  return {
    leave(code) {
      if (asked !== null) return
      asked = code
      if (running) go(code)
    },
    started() {
      running = true
      if (asked !== null) go(asked)
    },
  }
}

async function closeAll(home: Home, { logs, lock, stores, hub, server, config }: Opened): Promise<void> {
  config?.close()
  try {
    if (server !== null) {
      const { cut_off } = await server.stop()
      if (cut_off) logs?.log.warn({}, 'requests that still ran after the grace were cut off')
    } else await hub?.close()
  } finally {
    await stores?.close()
    if (server !== null) fs.rmSync(home.hub_pid, { force: true })
    await lock?.release()
    if (server !== null) logs?.log.info({}, 'stopped')
    logs?.close()
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

function listenSettings(config: Config) {
  const { host, port, tls_cert, tls_key, behind_proxy, url } = config.hub
  if ((tls_cert === undefined) !== (tls_key === undefined)) {
    throw new TurnbellError('config_invalid', {
      detail: 'hub.tls_cert and hub.tls_key belong together; only one of them was given',
    })
  }
  const tls =
    tls_cert === undefined || tls_key === undefined
      ? undefined
      : { cert: readPem('hub.tls_cert', tls_cert), key: readPem('hub.tls_key', tls_key) }
  return { host, port, tls, behind_proxy, url }
}

function readPem(key: string, file: string): string {
  try {
    return fs.readFileSync(path.resolve(file), 'utf8')
  } catch (cause) {
    throw new TurnbellError('config_invalid', {
      detail: `${key}: ${file} cannot be read: ${String(cause)}`,
      cause,
    })
  }
}

function writePid(home: Home, pid: HubPid): void {
  replaceFile(home.hub_pid, `${JSON.stringify(pid)}\n`)
}
