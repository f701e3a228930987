/** `turnbell daemon`: runs one persona's daemon in the foreground. This is the composition root. */
// Imported first, because it sets how zod compiles all schemas.
import './without-zod-jit.ts'
import fs from 'node:fs'
import path from 'node:path'
import v8 from 'node:v8'
import { pino, type Logger } from 'pino'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { EXIT, exitCodeOf } from '../contracts/errors/exit-codes.ts'
import type { Config } from '../contracts/config.ts'
import { startChild } from '../system/process/supervised-child.ts'
import { systemClock } from '../system/clock.ts'
import { readConfigText, mergeLayers, parseTree } from '../system/config/config-layers.ts'
import {
  personaPaths,
  prepareHome,
  resolveHome,
  type Home,
  type PersonaPaths,
} from '../system/config/home.ts'
import { requireHub, requireHubUrl } from '../system/config/hub-discovery.ts'
import { localSockets } from '../system/ipc/unix-socket.ts'
import { nodeProgram } from '../system/process/node-program.ts'
import { openRotatingLog } from '../system/files/rotating-log.ts'
import { PARENT_PID } from '../system/process/parent-watch.ts'
import { acquireDaemonRunFiles, type DaemonRunFiles } from '../system/config/daemon-run-files.ts'
import { diskError, newInstance, printProblem } from '../system/process/problem-output.ts'
import { createIds, systemRandom } from '../system/random.ts'
import { readOperatorToken } from '../system/config/secrets.ts'
import { createHubLink } from './link/hub-link.ts'
import { createTokenSource } from './link/hub-token.ts'
import { createDaemon, type Daemon, type StopReason } from './runtime.ts'
import { readFlags, settingsFrom, USAGE, type Flags, type Settings } from './settings.ts'
import type { StartShim } from './supervise.ts'
import { replaceEntry } from '../system/files/atomic-write.ts'
import { readText, watchFile } from '../system/files/watch-file.ts'
import { TERMINATION_SIGNALS } from '../system/process/termination-signals.ts'

export async function main(argv: string[]): Promise<void> {
  let json = argv.includes('--json')
  const opened: Opened = { log: null }
  try {
    const flags = readFlags(argv)
    json = flags.json === true
    if (flags.help === true) {
      process.stdout.write(USAGE)
      return
    }
    await run(flags, opened)
  } catch (thrown) {
    const error = diskError(thrown)
    const instance = newInstance()
    opened.log?.error({ err: error, instance }, 'start failed')
    printProblem(error, json, instance)
    process.exitCode = exitCodeOf(error)
  }
}

/** The log, for reporting a failed start. */
interface Opened {
  log: Logger | null
}

/** Resolves once the daemon runs; the process then ends through `leave`. */
async function run(flags: Flags, opened: Opened): Promise<void> {
  // Files created by this process are accessible to its user only.
  process.umask(0o077)
  // The reader of our output may be gone, or its disk full; the daemon continues.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  // V8 would grow the young generation to 16 MB in one busy minute and never return it: 107 MB resident
  // instead of 75 after 500 turns. Most daemons are idle, and many run on one machine.
  v8.setFlagsFromString('--semi-space-growth-factor=1')
  const home = resolveHome(process.env, flags.home)
  const config = await configOf(home)
  if (flags.hub !== undefined) requireHubUrl(flags.hub)
  const settings = settingsFrom(flags, config)
  const { identity } = settings
  prepareHome(home)
  const paths = personaPaths(home, config.tenant_id, identity, process.env)
  const log = (opened.log = openLog(paths, config, identity))

  let lost: ((detail: string) => void) | null = null
  let created: Daemon | null = null
  const place = await acquireDaemonRunFiles({ paths, identity, log, onLost: (detail) => lost?.(detail) })
  try {
    const onStopAsked = (why: StopReason) => void leave(why)
    const daemon = (created = compose(flags, home, config, settings, paths, log, place, onStopAsked))
    const leave = createLeave(daemon, place, log)
    lost = (detail) => void leave({ kind: 'replaced', detail })
    for (const os_signal of TERMINATION_SIGNALS) {
      process.on(os_signal, () => void leave({ kind: 'requested' }))
    }
    // A bug ends the process. Its supervisor restarts it, which is safe because the queue is durable.
    process.on('uncaughtException', (error) => endOnBug(log, error))
    await daemon.start()
    log.info({ surface: settings.surface }, 'ready')
    printReady(flags, identity, paths)
  } catch (error) {
    // Resources already acquired, such as the first socket, would keep the process alive.
    await created?.stop()
    await place.release()
    throw error
  }
}

/** Loads the configuration. The YAML parser is imported only if a config file exists. */
async function configOf({ config: file }: Home): Promise<Config> {
  const text = readConfigText(file)
  const tree = text === null ? {} : parseTree(text, file, (await import('yaml')).default.parseDocument)
  return mergeLayers(tree, file, process.env)
}

function compose(
  flags: Flags,
  home: Home,
  config: Config,
  settings: Settings,
  paths: PersonaPaths,
  log: Logger,
  place: DaemonRunFiles,
  onStopAsked: (why: StopReason) => void,
): Daemon {
  const { identity, surface, rules, shim } = settings
  const ids = createIds(systemClock, systemRandom)
  const session_id = ids.next()
  const url = () => requireHub(home, config, flags.hub)
  const tokens = createTokenSource({
    url,
    identity,
    session_id,
    operatorToken: () => readOperatorToken(home),
    given: flags['token-file'] === undefined ? undefined : readTokenFile(flags['token-file']),
    clock: systemClock,
  })
  return createDaemon({
    tenant_id: config.tenant_id,
    identity,
    surface,
    rules,
    pid: process.pid,
    paths,
    clock: systemClock,
    random: systemRandom,
    ids,
    link: createHubLink({ url, identity, surface, session_id, tokens, clock: systemClock, log }),
    sockets: localSockets,
    restoreRunFiles: () => place.remake(),
    watchHub: flags.hub === undefined ? (onBack) => watchHubOf(home, onBack) : null,
    startShim: shim === null ? null : shimStarter(shim, home, identity, log),
    state_file: {
      read: () => readText(paths.daemon_state),
      write: (text) => replaceEntry(paths.daemon_state, text),
    },
    writeMetrics: (text) => replaceEntry(paths.metrics_file, text),
    log,
    onStopRequested: onStopAsked,
    onBug: (error) => endOnBug(log, error),
  })
}

function endOnBug(log: Logger, error: unknown): never {
  try {
    log.fatal({ err: error }, 'unhandled error')
  } finally {
    // Exits even if the error cannot be logged.
    process.exit(EXIT.failed)
  }
}

/** Returns a function that starts the shim, which is installed next to this bundle. */
function shimStarter(shim: string, home: Home, identity: string, log: Logger): StartShim {
  const file = path.join(import.meta.dirname, 'adapters', shim)
  return (onExit) =>
    startChild({
      program: nodeProgram(process.env),
      args: [file, '--home', home.root, '--persona', identity],
      env: {
        ...process.env,
        TURNBELL_HOME: home.root,
        TURNBELL_PERSONA: identity,
        [PARENT_PID]: String(process.pid),
      },
      onLine: (stream, line) => log.info({ shim: stream, line }, 'shim output'),
      onExit,
    })
}

function createLeave(daemon: Daemon, place: DaemonRunFiles, log: Logger) {
  let leaving = false
  return async (why: StopReason): Promise<void> => {
    if (leaving) return
    leaving = true
    log.info(why, 'stopping')
    if (why.kind !== 'requested') process.stderr.write(`turnbell daemon stops: ${why.detail}\n`)
    let code: number = why.kind === 'replaced' ? EXIT.already_running : EXIT.done
    try {
      await daemon.stop()
    } catch (error) {
      log.error({ err: error }, 'clean stop failed')
      code = EXIT.failed
    }
    await place.release().catch((error: unknown) => log.error({ err: error }, 'releasing the lock failed'))
    log.info({ code }, 'stopped')
    process.exit(code)
  }
}

/** Watches the hub's pid file: a hub writes it once it is ready and removes it when it stops cleanly. */
function watchHubOf({ hub_pid }: Home, onBack: () => void): { close(): void } {
  let before = readText(hub_pid)
  return watchFile(hub_pid, (text) => {
    const is_new = text !== null && text !== before
    before = text
    if (is_new) onBack()
  })
}

function openLog(paths: PersonaPaths, config: Config, identity: string): Logger {
  const destination = openRotatingLog(paths.log, {
    onDropped: ({ message }) => process.stderr.write(`warn: ${paths.log} cannot be written (${message})\n`),
  })
  const { level } = config.log
  return pino(
    { level, base: { pid: process.pid, identity }, timestamp: pino.stdTimeFunctions.isoTime },
    destination,
  )
}

function readTokenFile(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new TurnbellError('config_invalid', { detail: `--token-file: ${file} cannot be read`, cause })
  }
}

function printReady(flags: Flags, identity: string, paths: PersonaPaths): void {
  const { control_socket, surface_socket } = paths
  const document = { status: 'ready', identity, pid: process.pid, control_socket, surface_socket }
  const line =
    flags.json === true ? JSON.stringify(document) : `turnbell daemon ready ${identity} ${control_socket}`
  process.stdout.write(`${line}\n`)
}
