/** `turnbell daemon`: one persona's daemon in the foreground. The composition root. */
// First: it says how all schemas are made.
import './schemas.ts'
import fs from 'node:fs'
import path from 'node:path'
import v8 from 'node:v8'
import { pino, type Logger } from 'pino'
import { TurnbellError } from '../contracts/errors.ts'
import { EXIT, exitCodeOf } from '../contracts/exit-codes.ts'
import type { Config } from '../contracts/config.ts'
import { startChild } from '../system/child-process.ts'
import { systemClock } from '../system/clock.ts'
import { configText, layered, treeOf } from '../system/config-layers.ts'
import { personaPaths, prepareHome, resolveHome, type Home, type PersonaPaths } from '../system/home.ts'
import { requireHub, requireHubUrl } from '../system/hub-address.ts'
import { localSockets } from '../system/local-socket.ts'
import { nodeProgram } from '../system/node-program.ts'
import { openLogFile } from '../system/log-file.ts'
import { PARENT_PID } from '../system/parent.ts'
import { takePlace, type OwnPlace } from '../system/daemon-place.ts'
import { diskRefusal, newInstance, printProblem } from '../system/problem-output.ts'
import { createIds, systemRandom } from '../system/random.ts'
import { readOperatorToken } from '../system/secrets.ts'
import { createHubLink } from './hub-link.ts'
import { createTokenSource } from './hub-token.ts'
import { createDaemon, type Daemon, type StopReason } from './runtime.ts'
import { readFlags, settingsFrom, USAGE, type Flags, type Settings } from './settings.ts'
import type { StartShim } from './supervise.ts'
import { replaceFile } from '../system/replace-file.ts'
import { readText, watchText } from '../system/watch-text.ts'
import { TERMINATION_SIGNALS } from '../system/termination.ts'

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
    const error = diskRefusal(thrown)
    const instance = newInstance()
    opened.log?.error({ err: error, instance }, 'the daemon does not start')
    printProblem(error, json, instance)
    process.exitCode = exitCodeOf(error)
  }
}

/** What a failed start finds to write into. */
interface Opened {
  log: Logger | null
}

/** Returns once the daemon runs; it then ends by a call of `leave`. */
async function run(flags: Flags, opened: Opened): Promise<void> {
  // Whatever we write belongs to this user alone.
  process.umask(0o077)
  // Whoever read our output may be gone, or its disk be full; the daemon goes on.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  // A daemon is one of many and mostly idle. V8 would answer one busy minute with a young generation of
  // 16 MB and never give it back: 107 MB resident instead of 75 after five hundred turns.
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
  let begun: Daemon | null = null
  const place = await takePlace({ paths, identity, log, onLost: (detail) => lost?.(detail) })
  try {
    const onStopAsked = (why: StopReason) => void leave(why)
    const daemon = (begun = compose(flags, home, config, settings, paths, log, place, onStopAsked))
    const leave = createLeave(daemon, place, log)
    lost = (detail) => void leave({ kind: 'replaced', detail })
    for (const os_signal of TERMINATION_SIGNALS) {
      process.on(os_signal, () => void leave({ kind: 'asked' }))
    }
    // A bug ends the process; its supervisor starts it again, which is safe because the queue is durable.
    process.on('uncaughtException', (error) => endOnBug(log, error))
    await daemon.start()
    log.info({ surface: settings.surface }, 'ready')
    tellReady(flags, identity, paths)
  } catch (error) {
    // What it holds already, as its first socket, would keep the process.
    await begun?.stop()
    await place.release()
    throw error
  }
}

/** What reads YAML is only loaded where there is some. */
async function configOf({ config: file }: Home): Promise<Config> {
  const text = configText(file)
  const tree = text === null ? {} : treeOf(text, file, (await import('yaml')).default.parseDocument)
  return layered(tree, file, process.env)
}

function compose(
  flags: Flags,
  home: Home,
  config: Config,
  settings: Settings,
  paths: PersonaPaths,
  log: Logger,
  place: OwnPlace,
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
    remakeDirectories: () => place.remake(),
    watchHub: flags.hub === undefined ? (onBack) => watchHubOf(home, onBack) : null,
    startShim: shim === null ? null : shimStarter(shim, home, identity, log),
    memory: {
      read: () => readText(paths.daemon_state),
      write: (text) => replaceFile(paths.daemon_state, text),
    },
    writeMetrics: (text) => replaceFile(paths.metrics_file, text),
    log,
    onStopAsked,
    onBug: (error) => endOnBug(log, error),
  })
}

function endOnBug(log: Logger, error: unknown): never {
  try {
    log.fatal({ err: error }, 'a bug')
  } finally {
    // An error that cannot be logged must not keep alive what it has broken.
    process.exit(EXIT.failed)
  }
}

/** The shim lies beside the bundle that this is part of. */
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
      onLine: (stream, line) => log.info({ shim: stream, line }, 'the shim says'),
      onExit,
    })
}

function createLeave(daemon: Daemon, place: OwnPlace, log: Logger) {
  let leaving = false
  return async (why: StopReason): Promise<void> => {
    if (leaving) return
    leaving = true
    log.info(why, 'stopping')
    if (why.kind !== 'asked') process.stderr.write(`turnbell daemon stops: ${why.detail}\n`)
    let code: number = why.kind === 'replaced' ? EXIT.already_running : EXIT.done
    try {
      await daemon.stop()
    } catch (error) {
      log.error({ err: error }, 'could not stop cleanly')
      code = EXIT.failed
    }
    await place
      .release()
      .catch((error: unknown) => log.error({ err: error }, 'the lock could not be released'))
    log.info({ code }, 'stopped')
    process.exit(code)
  }
}

/** A hub writes its pid file once it is ready, and removes it at a clean stop. */
function watchHubOf({ hub_pid }: Home, onBack: () => void): { close(): void } {
  let before = readText(hub_pid)
  return watchText(hub_pid, (text) => {
    const is_new = text !== null && text !== before
    before = text
    if (is_new) onBack()
  })
}

function openLog(paths: PersonaPaths, config: Config, identity: string): Logger {
  const destination = openLogFile(paths.log, {
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

function tellReady(flags: Flags, identity: string, paths: PersonaPaths): void {
  const { control_socket, surface_socket } = paths
  const document = { status: 'ready', identity, pid: process.pid, control_socket, surface_socket }
  const line =
    flags.json === true ? JSON.stringify(document) : `turnbell daemon ready ${identity} ${control_socket}`
  process.stdout.write(`${line}\n`)
}
