/**
 * Composes a hub from its home: lock, stores, modules, port. Two composition roots use it: the hub process, and a bridge
 * that embeds a hub.
 */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { parseJsonOrNull } from '../contracts/validation/json.ts'
import { HUB_PORT, type Config } from '../contracts/config.ts'
import type { Facade } from '../kernel/define.ts'
import { timestamp, type Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'
import type { Spool } from '../ports/spool.ts'
import { builtInSteps } from '../modules/routines/steps/built-in.ts'
import { projectOpener } from '../storage/file/project/open-projects.ts'
import { toStoreError } from '../storage/file/journal/disk-errors.ts'
import { openSpool } from '../storage/file/spool/spool.ts'
import { openStores, type Stores } from '../storage/open.ts'
import { closeInOrder } from '../system/files/close-all.ts'
import { takeOwnerLock, type OwnerLock } from '../system/files/owner-lock.ts'
import type { Home } from '../system/config/home.ts'
import { createGitRunner } from '../system/git/git-runner.ts'
import { runningHub, type HubPid } from '../system/config/hub-discovery.ts'
import { loadModule } from '../system/process/load-module.ts'
import { systemPatterns as patterns } from '../system/patterns.ts'
import { createOnnxEmbedder, type OnnxEmbedder } from '../system/embedding/onnx-embedder.ts'
import { processStartTime } from '../system/process/process-info.ts'
import { programAlive } from '../system/process/surface-command.ts'
import { createStepRunner, type SystemStepRunner } from '../system/process/step-runner.ts'
import { systemPathInspector } from '../system/files/path-inspector.ts'
import { createIds, systemRandom } from '../system/random.ts'
import { replaceEntry } from '../system/files/atomic-write.ts'
import { ensureSecrets } from '../system/config/secrets.ts'
import { isSystemError } from '../system/files/system-error.ts'
import { VERSION } from '../system/version.ts'
import { portHolder } from '../system/ipc/port-holder.ts'
import { readText, watchFile } from '../system/files/watch-file.ts'
import { watchProcess } from '../system/process/process-metrics.ts'
import { createWeb } from '../system/ipc/web.ts'
import { startActivityWorker } from '../system/process/activity-worker.ts'
import type { InProcessCall } from '../bridge/in-process-calls.ts'
import type { McpExtend } from '../transports/mcp/extension.ts'
import { createActivityThread, type StartThread } from './activity/activity-thread.ts'
import type { ThreadSettings } from './activity/thread-messages.ts'
import { inProcessCalls } from './embedded/in-process-calls.ts'
import { addConfiguredPersonas } from './configured-personas.ts'
import { grantsOf, warnOfUnknown } from './exposure.ts'
import { reloadConfig } from './config-reload.ts'
import { lockHome } from './home-lock.ts'
import { createHub, type Hub, type HubDeps } from './hub.ts'
import { HUB_METRICS_PREFIX } from './observability/metrics.ts'
import type { HubLogs } from './observability/logs.ts'
import { createNotifier } from './notify.ts'
import { loadPlugins } from './plugins/load-plugins.ts'
import { routineSettingsOf, warnOfUnknownSteps } from './routines.ts'
import { listen, type HubServer, type OwnHosts } from './server.ts'
import { yieldRoute } from './embedded/handover.ts'

export interface CompositionNeeds {
  home: Home
  config: Config
  /** Reads the configuration again. */
  readConfig: () => Config
  facades: readonly Facade[]
  /** MCP methods in addition to those of the kernel. */
  extend?: McpExtend | undefined
  logs: HubLogs
  clock: Clock
  /** Environment of the programs that the hub runs. */
  env: NodeJS.ProcessEnv
  /** Moves damaged journal lines to quarantine instead of refusing to start. */
  repair?: boolean
  /** An embedded hub: yields the home as soon as a hub process starts. */
  embedded?: boolean
  /** Aborts the start while it waits for the home. */
  leaving?: AbortSignal | undefined
  /** The hub must be stopped, because it lost the home's lock or was asked to yield. */
  onEnd: (why: 'lost' | 'yielded') => void
  /** After a failed write or sync the hub is read-only; a hub composed now could write again. */
  onWritable: () => void
  /** Replaced only in benchmarks and tests. */
  open?: typeof openStores
}

export interface ComposedHub {
  url: string
  hub: Hub
  ids: Ids
  operator_token: string
  /** For a bridge in this process. Null if MCP has methods in addition to those of the kernel. */
  call: InProcessCall | null
  /** Waits for running work, closes everything and releases the home. */
  stop(): Promise<void>
}

/** Resources opened so far; they are closed in reverse order. */
interface Opened {
  lock: OwnerLock | null
  stores: Stores | null
  hub: Hub | null
  server: HubServer | null
  /** Embedding model of memory search. */
  embedder: OnnxEmbedder | null
  /** Runs the programs of routine steps. */
  programs: SystemStepRunner | null
  /** Watches the configuration file. */
  config: { close(): void } | null
  /** The address file of this hub. */
  pid: { remake(): void; remove(): void } | null
}

/**
 * @throws TurnbellError `already_running`, `bind_failed`, `config_invalid` and errors of the store, after everything
 * that was opened is closed again.
 */
export async function composeHub(needs: CompositionNeeds): Promise<ComposedHub> {
  const opened: Opened = {
    lock: null,
    stores: null,
    hub: null,
    server: null,
    embedder: null,
    programs: null,
    config: null,
    pid: null,
  }
  try {
    return await compose(needs, opened)
  } catch (error) {
    await closeAll(needs, opened).catch((err: unknown) =>
      needs.logs.log.warn({ err }, 'cleanup after a failed start failed'),
    )
    throw isSystemError(error) ? toStoreError(error, `${needs.home.root} cannot be used`) : error
  }
}

async function compose(needs: CompositionNeeds, opened: Opened): Promise<ComposedHub> {
  const { home, config, logs, clock, onEnd, onWritable, open = openStores } = needs
  const { log } = logs
  opened.lock = await takeHome(needs, opened)
  const secrets = ensureSecrets(home)
  const ids = createIds(clock, systemRandom)
  const stores = (opened.stores = await open(config.hub.store, {
    ...{ clock, log, hub_dir: home.hub_dir, repair: needs.repair === true },
    // A hub that cannot write stays up to report that. A fenced hub has lost its store to another one and must end.
    onFatal(error) {
      if (error.code === 'store_fenced') onEnd('lost')
    },
    onWritable,
  }))
  const own: OwnHosts = { list: [] }
  const hub = (opened.hub = await openHub(needs, opened, { stores, secrets, ids, own }))
  warnOfUnknown(hub.kernel, log)
  warnOfUnknownSteps(hub.routines, log)
  await addConfiguredPersonas(hub.personas, config.personas, log)
  const raw = needs.embedded === true ? [yieldRoute(hub.api, () => onEnd('yielded'))] : []
  const settings = { ...listenSettings(home, config), raw, extend: needs.extend }
  const server = (opened.server = await listen(hub, settings, own, VERSION, clock))
  if (config.hub.port === undefined) keepPort(home, Number(new URL(server.url).port), log)
  opened.pid = writePid(home, {
    pid: process.pid,
    started: processStartTime(process.pid),
    url: server.url,
    started_at: timestamp(clock),
    ...(needs.embedded === true ? { stands_in: true } : {}),
  })
  log.info({ url: server.url, version: VERSION, store: config.hub.store, home: home.root }, 'ready')
  opened.config = watchFile(home.config, () => reloadConfig(hub, needs.readConfig, log))
  let stopped: Promise<void> | null = null
  return {
    url: server.url,
    hub,
    ids,
    operator_token: secrets.operator_token,
    call: needs.extend === undefined ? inProcessCalls(hub, config.tenant_id) : null,
    stop: () => (stopped ??= closeAll(needs, opened)),
  }
}

function takeHome(needs: CompositionNeeds, opened: Opened): Promise<OwnerLock> {
  const { home, clock, onEnd } = needs
  const { log } = needs.logs
  const onLost = (err: Error) => {
    log.error({ err }, 'lock of the home lost; stopping')
    onEnd('lost')
  }
  const onRetaken = (err: Error) => {
    log.warn({ err }, 'lock of the home was removed and taken again')
    opened.pid?.remake()
  }
  return lockHome({
    take: () => takeOwnerLock({ lock: home.hub_lock, what: 'A hub', onLost, onRetaken }),
    other: () => runningHub(home),
    operatorToken: () => ensureSecrets(home).operator_token,
    clock,
    log,
    embedded: needs.embedded === true,
    leaving: needs.leaving,
  })
}

interface HubBasics {
  stores: Stores
  secrets: HubDeps['secrets']
  ids: Ids
  own: OwnHosts
}

/** Opens the hub with its plugins, programs and embedder, without its port. */
async function openHub(needs: CompositionNeeds, opened: Opened, basics: HubBasics): Promise<Hub> {
  const { home, config, logs, clock } = needs
  const { stores, secrets, ids, own } = basics
  const { log } = logs
  const { facades, kinds, steps, reports } = await loadPlugins({
    plugins: config.plugins,
    facades: needs.facades,
    clock,
    log,
    steps: builtInSteps({ patterns, clock }),
    load: (plugin) => loadModule(plugin, home.root),
  })
  const programs = (opened.programs = createStepRunner({ env: process.env, clock }))
  const { model_dir } = config.memory
  const embedder = (opened.embedder =
    model_dir === undefined ? null : createOnnxEmbedder({ model_dir, places: [home.root] }))
  return createHub({
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
    stores,
    openProject: projectOpener({ log, newId: () => ids.next(), closed: [home.root] }),
    embedder,
    spool: openSpoolOf(home, clock, ids, log),
    places: systemPathInspector(home),
    git: createGitRunner({ env: needs.env, clock, closed: [home.root] }),
    grants: grantsOf(config),
    settings: routineSettingsOf(config),
    signals_ttl_s: config.signals.ttl_s,
    notifier: createNotifier({ settings: config.notify, programs, root: home.root, log }),
    activity: openActivity(needs),
    isRunning: programAlive,
    outside: { programs, web: createWeb({ clock }), patterns, variable: (name) => process.env[name] },
    line: (line) => logs.dispatch(line),
    ownHosts: () => own.list,
    processMetrics: watchProcess(HUB_METRICS_PREFIX),
  })
}

function openActivity({ home, config, logs, clock }: CompositionNeeds): NonNullable<HubDeps['activity']> {
  const { capture, deny, retention_days, bytes_max } = config.activity
  const settings: ThreadSettings = {
    file: home.hub_activity,
    capture,
    deny,
    retention_days,
    bytes_max,
  }
  const start: StartThread = (on) => startActivityWorker(settings, on)
  return {
    module: createActivityThread({ start, clock, log: logs.log }),
    isUsed: () => fs.existsSync(settings.file),
  }
}

function openSpoolOf(home: Home, clock: Clock, ids: Ids, log: Log): Spool {
  const onRefused = (notice: object) => log.warn(notice, 'spooled line or file quarantined')
  return openSpool({ directory: home.spool, clock, ids, onRefused })
}

/** Closes everything, also after an error, and releases the home. Rejects with the first error. */
function closeAll(
  { logs: { log } }: CompositionNeeds,
  { lock, stores, hub, server, embedder, programs, config, pid }: Opened,
): Promise<void> {
  const stop = async (running: HubServer) => {
    const { cut_off } = await running.stop()
    if (cut_off) log.warn({}, 'requests still running after the grace period were cut off')
  }
  return closeInOrder([
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

/** Ports to try if none is configured: the port of the previous run, then the default port, then any free one. */
function portsOf(home: Home, configured: number | undefined): [number, ...number[]] {
  if (configured !== undefined) return [configured]
  const before = Number(readText(home.hub_port) ?? Number.NaN)
  const usual = [HUB_PORT, 0] as const
  return Number.isInteger(before) && before > 0 && before <= 65_535 ? [before, ...usual] : [HUB_PORT, 0]
}

/** Records the port, so that clients which know this address reach the next hub of this home there. */
function keepPort({ hub_port }: Home, port: number, log: Log): void {
  if (port === HUB_PORT) return fs.rmSync(hub_port, { recursive: true, force: true })
  log.warn({ port, holder: portHolder(HUB_PORT) }, `port ${HUB_PORT} is in use; listening on another`)
  replaceEntry(hub_port, `${port}\n`)
}

function listenSettings(home: Home, config: Config) {
  const { host, tls_cert, tls_key, behind_proxy, url } = config.hub
  if ((tls_cert === undefined) !== (tls_key === undefined)) {
    throw new TurnbellError('config_invalid', {
      detail: 'hub.tls_cert and hub.tls_key must be set together; only one of them is set',
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

/** Returns whether an address file names another living process. A dead one comes from a restored backup. */
function isOfAnotherHub(text: string | null): boolean {
  const { pid, started } = (parseJsonOrNull(text) ?? {}) as { pid?: unknown; started?: unknown }
  if (typeof pid !== 'number' || pid === process.pid) return false
  return programAlive(pid, typeof started === 'string' ? started : null)
}

function writePid({ hub_pid }: Home, pid: HubPid): { remake(): void; remove(): void } {
  const text = `${JSON.stringify(pid)}\n`
  replaceEntry(hub_pid, text)
  // Clients cannot find this hub without the file. If it names another living process, that hub has the home now.
  const keep = (found: string | null) => {
    if (found === text || isOfAnotherHub(found)) return
    try {
      replaceEntry(hub_pid, text)
    } catch {
      // The directory is gone, or read-only.
    }
  }
  const kept = watchFile(hub_pid, keep)
  return {
    remake: () => keep(readText(hub_pid)),
    /** Keeps the file of another hub that has taken the home. */
    remove() {
      kept.close()
      if (readText(hub_pid) === text) fs.rmSync(hub_pid, { force: true })
    },
  }
}
