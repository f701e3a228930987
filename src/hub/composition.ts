/**
 * A hub put together from its home: lock, stores, modules, port. Both roots do it, the hub's own process
 * and a bridge that stands in for one.
 */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../contracts/errors.ts'
import { HUB_PORT, type Config } from '../contracts/config.ts'
import type { Facade } from '../kernel/define.ts'
import { timestamp, type Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'
import type { Spool } from '../ports/spool.ts'
import { builtInSteps } from '../modules/routines/steps/built-in.ts'
import { projectOpener } from '../storage/open-projects.ts'
import { refusalOf } from '../storage/file/refusal.ts'
import { openSpool } from '../storage/file/spool.ts'
import { openStores, type Stores } from '../storage/open.ts'
import { closeEach } from '../system/close-each.ts'
import { lockDirectory, type DirectoryLock } from '../system/directory-lock.ts'
import type { Home } from '../system/home.ts'
import { createGitRunner } from '../system/git.ts'
import { runningHub, type HubPid } from '../system/hub-address.ts'
import { loadModule } from '../system/load-module.ts'
import { systemPatterns as patterns } from '../system/patterns.ts'
import { createOnnxEmbedder, type OnnxEmbedder } from '../system/onnx-embedder.ts'
import { processStartTime } from '../system/processes.ts'
import { createPrograms, type SystemPrograms } from '../system/programs.ts'
import { systemPlaces } from '../system/places.ts'
import { createIds, systemRandom } from '../system/random.ts'
import { replaceFile } from '../system/replace-file.ts'
import { ensureSecrets } from '../system/secrets.ts'
import { isSystemError } from '../system/system-error.ts'
import { VERSION } from '../system/version.ts'
import { portHolder } from '../system/port-holder.ts'
import { readText, watchText } from '../system/watch-text.ts'
import { watchProcess } from '../system/process-metrics.ts'
import { createWeb } from '../system/web.ts'
import type { CallHere } from '../transports/bridge/calls-here.ts'
import type { McpExtend } from '../transports/mcp/extension.ts'
import { callsHere } from './calls-here.ts'
import { takeInConfigured } from './configured-personas.ts'
import { grantsOf, warnOfUnknown } from './exposure.ts'
import { takeInAnew } from './follow-config.ts'
import { lockHome } from './home-lock.ts'
import { createHub, type Hub } from './hub.ts'
import { HUB_METRICS_PREFIX } from './metrics.ts'
import type { HubLogs } from './logs.ts'
import { createNotifier } from './notify.ts'
import { takeInPlugins } from './plugins.ts'
import { routineSettingsOf, warnOfUnknownSteps } from './routines.ts'
import { listen, type HubServer, type OwnHosts } from './server.ts'
import { yieldRoute } from './yielding.ts'

export interface CompositionNeeds {
  home: Home
  config: Config
  /** The configuration as it is when asked. */
  readConfig: () => Config
  facades: readonly Facade[]
  /** What MCP offers beside the kernel's own. */
  extend?: McpExtend | undefined
  logs: HubLogs
  clock: Clock
  /** What the programs are given of it that the hub runs. */
  env: NodeJS.ProcessEnv
  /** Sets damaged lines of the journal aside instead of refusing to start. */
  repair?: boolean
  /** Takes its place only until a hub of its own is started, and then makes room. */
  stands_in?: boolean
  /** Aborted when it is to end before it has its home. */
  leaving?: AbortSignal | undefined
  /** It has lost its home, or was asked to make room: stop it. */
  onEnd: (why: 'lost' | 'yielded') => void
  /** A write or sync had failed, and the hub refuses every change; put together anew, it would take them. */
  onWritable: () => void
  /** Another than the product's only in benchmarks and tests. */
  open?: typeof openStores
}

export interface ComposedHub {
  url: string
  hub: Hub
  ids: Ids
  operator_token: string
  /** For a bridge in this process. Null where MCP offers more than the kernel does. */
  call: CallHere | null
  /** Lets what runs come to its end, closes everything and gives the home back. */
  stop(): Promise<void>
}

/** What has been opened so far, to be closed again in the opposite order. */
interface Opened {
  lock: DirectoryLock | null
  stores: Stores | null
  hub: Hub | null
  server: HubServer | null
  /** The model by which memory is searched. */
  embedder: OnnxEmbedder | null
  /** Runs what steps of routines run. */
  programs: SystemPrograms | null
  /** Follows the configuration. */
  config: { close(): void } | null
  /** What says where this hub answers. */
  pid: { remove(): void } | null
}

/**
 * @throws TurnbellError `already_running`, `bind_failed`, `config_invalid` and what the store refuses; then
 * all is closed again.
 */
export async function composeHub(needs: CompositionNeeds): Promise<ComposedHub> {
  const opened: Opened = {
    ...{ lock: null, stores: null, hub: null, server: null },
    ...{ embedder: null, programs: null, config: null, pid: null },
  }
  try {
    return await compose(needs, opened)
  } catch (error) {
    await closeAll(needs, opened).catch((err: unknown) =>
      needs.logs.log.warn({ err }, 'what had been opened could not be closed again'),
    )
    throw isSystemError(error) ? refusalOf(error, `${needs.home.root} cannot be used`) : error
  }
}

async function compose(needs: CompositionNeeds, opened: Opened): Promise<ComposedHub> {
  const { home, config, logs, clock, onEnd, onWritable, open = openStores } = needs
  const { log } = logs
  const onLost = (err: Error) => {
    log.error({ err }, 'the lock of this home was taken away; the hub stops')
    onEnd('lost')
  }
  opened.lock = await lockHome({
    take: () => lockDirectory({ lock: home.hub_lock, what: 'A hub', onLost }),
    other: () => runningHub(home),
    operatorToken: () => ensureSecrets(home).operator_token,
    ...{ clock, log, stands_in: needs.stands_in === true, leaving: needs.leaving },
  })
  const secrets = ensureSecrets(home)
  const ids = createIds(clock, systemRandom)
  opened.stores = await open(config.hub.store, {
    ...{ clock, log, hub_dir: home.hub_dir, repair: needs.repair === true },
    // Unable to write, the hub stays up to say so. Fenced, it has no business here any more.
    onFatal(error) {
      if (error.code === 'store_fenced') onEnd('lost')
    },
    onWritable,
  })
  const { facades, kinds, steps, reports } = await takeInPlugins({
    ...{ plugins: config.plugins, facades: needs.facades, clock, log },
    steps: builtInSteps({ patterns, clock }),
    load: (plugin) => loadModule(plugin, home.root),
  })
  const own: OwnHosts = { list: [] }
  const programs = (opened.programs = createPrograms({ env: process.env, clock }))
  const { model_dir } = config.memory
  const embedder = (opened.embedder =
    model_dir === undefined ? null : createOnnxEmbedder({ model_dir, places: [home.root] }))
  const hub = (opened.hub = await createHub({
    ...{
      tenant_id: config.tenant_id,
      version: VERSION,
      secrets,
      facades,
      kinds,
      steps,
      plugins: reports,
      clock,
      ids,
      log,
    },
    stores: opened.stores,
    openProject: projectOpener({ log, newId: () => ids.next() }),
    ...{ embedder, spool: openSpoolOf(home, needs.clock, ids, log) },
    places: systemPlaces(home),
    git: createGitRunner({ env: needs.env, clock }),
    grants: grantsOf(config),
    settings: routineSettingsOf(config),
    signals_ttl_s: config.signals.ttl_s,
    notifier: createNotifier({ settings: config.notify, programs, root: home.root, log }),
    outside: { programs, web: createWeb({ clock }), patterns, variable: (name) => process.env[name] },
    line: (line) => logs.dispatch(line),
    ownHosts: () => own.list,
    processMetrics: watchProcess(HUB_METRICS_PREFIX),
  }))
  warnOfUnknown(hub.kernel, log)
  warnOfUnknownSteps(hub.routines, log)
  await takeInConfigured(hub.personas, config.personas, log)
  const raw = needs.stands_in === true ? [yieldRoute(hub.doors, () => onEnd('yielded'))] : []
  const settings = { ...listenSettings(home, config), raw, extend: needs.extend }
  const server = (opened.server = await listen(hub, settings, own, VERSION, clock))
  if (config.hub.port === undefined) keepPort(home, Number(new URL(server.url).port), log)
  opened.pid = writePid(home, {
    ...{ pid: process.pid, started: processStartTime(process.pid), url: server.url },
    started_at: timestamp(clock),
    ...(needs.stands_in === true ? { stands_in: true } : {}),
  })
  log.info({ url: server.url, version: VERSION, store: config.hub.store, home: home.root }, 'ready')
  opened.config = watchText(home.config, () => takeInAnew(hub, needs.readConfig, log))
  let stopped: Promise<void> | null = null
  return {
    ...{ url: server.url, hub, ids, operator_token: secrets.operator_token },
    call: needs.extend === undefined ? callsHere(hub, config.tenant_id) : null,
    stop: () => (stopped ??= closeAll(needs, opened)),
  }
}

function openSpoolOf(home: Home, clock: Clock, ids: Ids, log: Log): Spool {
  const onRefused = (notice: object) =>
    log.warn(notice, 'something that was left behind cannot be taken in and is set aside')
  return openSpool({ directory: home.spool, clock, ids, onRefused })
}

/** Rejects with what failed first; the rest is closed all the same, and the home given back. */
function closeAll(
  { logs: { log } }: CompositionNeeds,
  { lock, stores, hub, server, embedder, programs, config, pid }: Opened,
): Promise<void> {
  const stop = async (running: HubServer) => {
    const { cut_off } = await running.stop()
    if (cut_off) log.warn({}, 'requests that still ran after the grace were cut off')
  }
  return closeEach([
    () => config?.close(),
    () => (server === null ? hub?.close() : stop(server)),
    () => programs?.close(),
    () => embedder?.close(),
    () => stores?.close(),
    () => pid?.remove(),
    () => lock?.release(),
    () => server !== null && log.info({}, 'stopped'),
  ])
}

/** Where none is configured: the one it had before, else the usual one, else any. */
function portsOf(home: Home, configured: number | undefined): [number, ...number[]] {
  if (configured !== undefined) return [configured]
  const before = Number(readText(home.hub_port) ?? Number.NaN)
  const usual = [HUB_PORT, 0] as const
  return Number.isInteger(before) && before > 0 && before <= 65_535 ? [before, ...usual] : [HUB_PORT, 0]
}

/** So that a client which was given the address finds the next hub of this home there, too. */
function keepPort({ hub_port }: Home, port: number, log: Log): void {
  if (port === HUB_PORT) return fs.rmSync(hub_port, { force: true })
  log.warn({ port, holder: portHolder(HUB_PORT) }, `port ${HUB_PORT} is taken; listening on another`)
  replaceFile(hub_port, `${port}\n`)
}

function listenSettings(home: Home, config: Config) {
  const { host, tls_cert, tls_key, behind_proxy, url } = config.hub
  if ((tls_cert === undefined) !== (tls_key === undefined)) {
    throw new TurnbellError('config_invalid', {
      detail: 'hub.tls_cert and hub.tls_key belong together; only one of them was given',
    })
  }
  const tls =
    tls_cert === undefined || tls_key === undefined
      ? undefined
      : { cert: readPem('hub.tls_cert', tls_cert), key: readPem('hub.tls_key', tls_key) }
  const [port, ...other_ports] = portsOf(home, config.hub.port)
  return { host, port, other_ports, holder: portHolder, tls, behind_proxy, url }
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

function writePid({ hub_pid }: Home, pid: HubPid): { remove(): void } {
  const text = `${JSON.stringify(pid)}\n`
  replaceFile(hub_pid, text)
  return {
    /** Not that of a hub which has taken the home meanwhile. */
    remove() {
      if (readText(hub_pid) === text) fs.rmSync(hub_pid, { force: true })
    },
  }
}
