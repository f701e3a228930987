/**
 * `turnbell run`: starts the persona's client, wired to it for this run by arguments and environment. The client's own
 * settings stay unchanged.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Command } from 'commander'
import * as z from 'zod'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { ClientKind } from '../../contracts/ids.ts'
import { parseJsonAs } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { Persona } from '../../contracts/registry.ts'
import { pause } from '../../ports/pause.ts'
import { outputFileOf, startInBackground } from '../../system/process/background.ts'
import { clientProgram, withoutOuterSession } from '../../system/clients/client-discovery.ts'
import { codexRunFiles } from '../../system/clients/codex-run-files.ts'
import { prepareHome, workerLog } from '../../system/config/home.ts'
import { attachedUsers } from '../../system/clients/attached-users.ts'
import { identifiedProcess } from '../../system/process/detached-process.ts'
import { listens } from '../../system/ipc/unix-socket.ts'
import {
  opencodeRunFiles,
  serverAuthorization,
  serverUrl,
  type ServerAddress,
} from '../../system/clients/opencode-run-files.ts'
import { shellWord } from '../../system/process/shell-word.ts'
import { serverRequest } from '../../system/clients/server-request.ts'
import { workingDirectory } from '../../system/clients/shim-environment.ts'
import {
  claudeArguments,
  codexArguments,
  namedSession,
  opencodeArguments,
  opencodeTarget,
} from '../client-arguments.ts'
import { type Cli, invocationOf, type Invocation, parseIdentity } from '../cli.ts'
import { examples } from '../render.ts'
import { runNotes } from '../run-notes.ts'
import { startHubBeside } from '../hub/start.ts'
import { daemonPid } from '../stop-daemon.ts'

const DEFAULT_CLIENT: ClientKind = 'claude-code'

export function registerRun(program: Command, cli: Cli): void {
  const command = program
    .command('run')
    .description(
      "start the persona's Claude Code, Codex or opencode, wired to it; the client's settings stay unchanged",
    )
    .requiredOption('--persona <name>', 'the persona that the session acts for', parseIdentity)
    .argument('[args...]', "after --: the client's own arguments")
    .addHelpText(
      'after',
      examples([
        ['turnbell run --persona ada', 'a session that gets doorbells'],
        ['turnbell run --persona ada -- --continue', 'arguments after -- are passed to the client'],
      ]),
    )
  command.action(async (args: string[], { persona }: { persona: string }) => {
    const invocation = invocationOf(cli, command)
    const surface = startedSurface(invocation, persona)
    const { home, config } = invocation
    const client = clientProgram(surface, { home, config: config(), env: cli.env })
    prepareHome(home)
    await ensureHub(invocation)
    await requireActive(invocation, persona, surface)
    await ensureDaemon(invocation, persona, surface)
    for (const note of await runNotes(invocation, persona, surface)) invocation.out.note(note)
    if (surface === 'codex') {
      const words = await joinCodex(invocation, persona, args)
      return cli.exitWith(
        await whileJoined(invocation, persona, surface, () => runClient(invocation, client, persona, words)),
      )
    }
    if (surface === 'opencode') {
      const { words, env } = await joinOpencode(invocation, persona, args)
      return cli.exitWith(
        await whileJoined(invocation, persona, surface, () =>
          runClient(invocation, client, persona, words, env),
        ),
      )
    }
    const plugin = path.join(path.dirname(cli.program), 'adapters', surface)
    const words = claudeArguments(plugin, persona, args)
    cli.exitWith(
      await whileJoined(invocation, persona, surface, () => runClient(invocation, client, persona, words)),
    )
  })
}

function startedSurface(invocation: Invocation, persona: string): ClientKind {
  const { surface = DEFAULT_CLIENT, acp, headless } = invocation.config().personas[persona] ?? {}
  // A headless session of Claude Code cannot be joined, so this would start a second agent of the persona.
  if (acp !== undefined || (surface === 'claude-code' && headless === true)) {
    const how = acp === undefined ? '' : ' over the Agent Client Protocol'
    throw new TurnbellError('usage_invalid', {
      detail: `${persona} is headless: its daemon runs its agent${how}.`,
      hint: `Start its daemon: \`turnbell up\` (all of them) or \`turnbell daemon --persona ${persona}\`.`,
    })
  }
  const client = ClientKind.safeParse(surface)
  if (client.success) return client.data
  throw new TurnbellError('usage_invalid', {
    detail: `The surface of ${persona} (${surface}) has no client that \`turnbell run\` can start.`,
    hint: `Start its agent by hand, or change the surface with \`turnbell persona add ${persona} --surface ${DEFAULT_CLIENT}\`.`,
  })
}

async function ensureHub(invocation: Invocation): Promise<void> {
  if (await invocation.hub().ready()) return
  startHubBeside(invocation)
  await waitUntil(invocation, 'the hub is ready', [invocation.home.hub_log], () => invocation.hub().ready())
}

async function requireActive(invocation: Invocation, persona: string, surface: ClientKind): Promise<void> {
  let unknown = `There is no persona ${persona}.`
  const known = await invocation
    .hub()
    .ask('personas', 'get', { identity: persona }, Persona)
    .catch((error: unknown) => {
      if (error instanceof TurnbellError && error.code === 'target_unknown') {
        unknown = error.detail
        return null
      }
      throw error
    })
  if (known === null && invocation.config().personas[persona] === undefined) {
    throw new TurnbellError('target_unknown', {
      detail: unknown,
      hint: `Add it with \`turnbell persona add ${persona} --surface ${surface}\`, or choose one of \`turnbell persona list\`.`,
    })
  }
  if (known === null) {
    await invocation.hub().call('personas', 'add', { identity: persona, surface })
    invocation.out.note(`${persona} is new and was added at the hub.`)
  } else if (known.state !== 'active') {
    throw new TurnbellError('persona_wrapped', {
      detail: `${persona} is ${known.state}.`,
      hint: `Reactivate it with \`turnbell persona add ${persona} --surface ${surface}\`.`,
    })
  }
}

async function ensureDaemon(invocation: Invocation, persona: string, surface: ClientKind): Promise<void> {
  const { cli, home, out } = invocation
  const answers = () =>
    invocation
      .control(persona)
      .status()
      .then(() => true, isUnreachable)
  if (await answers()) return
  const log = invocation.paths(persona).log
  out.note(`No daemon runs for ${persona}; starting one in the background. It runs until \`turnbell down\`.`)
  const args = ['daemon', '--home', home.root, '--persona', persona, '--surface', surface]
  startInBackground(cli.program, args, log, cli.env)
  await waitUntil(invocation, `the daemon of ${persona} is ready`, [log], answers)
}

/** Returns the arguments of a Codex that joins the persona's own app-server. The shim starts the server on request. */
async function joinCodex(
  invocation: Invocation,
  persona: string,
  args: readonly string[],
): Promise<string[]> {
  const { cli } = invocation
  const { codex_socket, log, run_dir } = invocation.paths(persona)
  serverRequest(run_dir, 'codex').submit()
  const worker = workerLog(invocation.home, persona, 'codex')
  await waitUntil(invocation, `the app-server of ${persona} listens`, [worker, log], () =>
    listens(codex_socket),
  )
  // The client joins a headless agent in its own thread and directory.
  const directory = headlessDirectory(invocation, persona)
  const kept = directory === null ? null : codexRunFiles(run_dir).joinableThread()
  return codexArguments(codex_socket, directory ?? cli.cwd, args, kept)
}

/** Returns the directory of a headless agent; null for other personas. */
function headlessDirectory({ home, config }: Invocation, identity: string): string | null {
  const settings = config().personas[identity]
  return settings?.headless === true ? workingDirectory({ home, identity, settings }) : null
}

/**
 * Returns the arguments of an opencode that joins the server of the persona's daemon. Creates the session, because the
 * client would create one only with its first prompt and could not be rung before.
 */
async function joinOpencode(invocation: Invocation, persona: string, args: readonly string[]) {
  const { cli } = invocation
  const { run_dir, log } = invocation.paths(persona)
  const place = opencodeRunFiles(run_dir)
  serverRequest(run_dir, 'opencode').submit()
  const worker = workerLog(invocation.home, persona, 'opencode')
  await waitUntil(invocation, `the opencode server of ${persona} answers`, [worker, log], async () => {
    const server = place.server()
    return server?.attached === true && listens({ host: '127.0.0.1', port: server.port })
  })
  const server = place.server() as ServerAddress
  // The client joins a headless agent in its own session and directory.
  const headless = headlessDirectory(invocation, persona)
  const kept = headless === null ? null : place.headlessSession()
  const { directory, session_id } = opencodeTarget(args, { cwd: cli.cwd, headless, kept })
  const session = session_id === undefined ? await newSession(server, directory) : session_id
  // The shim reads this, because the server reports a new session only to clients that subscribed earlier.
  const bound = session ?? namedSession(args)
  if (bound !== null) place.storeBound({ session_id: bound, directory })
  return {
    words: opencodeArguments(serverUrl(server), { directory, args, session }),
    // In the environment, because every user of this machine could read it among the arguments.
    env: { OPENCODE_SERVER_PASSWORD: server.password },
  }
}

/** Registers this process as an attached person during `stay`. Meanwhile the person answers the agent's questions. */
async function whileJoined<T>(
  invocation: Invocation,
  persona: string,
  surface: ClientKind,
  stay: () => Promise<T>,
): Promise<T> {
  const users = attachedUsers(invocation.paths(persona).run_dir, surface)
  users.attach(process.pid)
  return stay().finally(async () => {
    users.detach(process.pid)
    if (!users.isAttached()) await stopOrphanedServer(invocation, persona, surface)
  })
}

/** Stops a server whose daemon was stopped. The last client to leave does so. */
async function stopOrphanedServer(
  invocation: Invocation,
  persona: string,
  surface: ClientKind,
): Promise<void> {
  const runs = await daemonPid(invocation, persona).then(
    (pid) => pid !== null,
    // The daemon runs but did not answer.
    () => true,
  )
  if (runs) return
  identifiedProcess(path.join(invocation.paths(persona).run_dir, `${surface}.pid`)).stop()
}

function isUnreachable(error: unknown): false {
  if (error instanceof TurnbellError && error.code === 'daemon_unreachable') return false
  throw error
}

const POLL_MS = 50

/** Polls until `holds` returns true, and prints a note if that takes long. Throws `timed_out` with the logs to read. */
async function waitUntil(
  { cli, out }: Invocation,
  what: string,
  logs: readonly string[],
  holds: () => Promise<boolean>,
): Promise<void> {
  const began = cli.clock.monotonic()
  let noted = false
  while (!(await holds())) {
    const waited_ms = cli.clock.monotonic() - began
    if (waited_ms > LIMITS.process_start_ms) {
      const written = logs.flatMap((log) => [log, outputFileOf(log)]).filter((file) => fs.existsSync(file))
      throw new TurnbellError('timed_out', {
        detail: `Not reached within ${LIMITS.process_start_ms / 1000} s: ${what}.`,
        hint:
          written.length === 0
            ? `Try again, or run \`turnbell doctor\`; there is no log yet.`
            : `Read the end of ${written.map(shellWord).join(' or of ')}.`,
      })
    }
    if (!noted && waited_ms > LIMITS.process_start_notice_ms) {
      out.note(`Waiting until ${what}; see ${logs[0]}.`)
      noted = true
    }
    await pause(cli.clock, POLL_MS)
  }
}

/** Resolves with the client's exit code, or with 128 plus the number of the os signal that ended it. */
function runClient(
  { cli, home }: Invocation,
  client: string,
  persona: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
) {
  const child = spawn(client, words, {
    stdio: 'inherit',
    env: {
      ...withoutOuterSession(cli.env),
      TURNBELL_HOME: home.root,
      TURNBELL_PERSONA: persona,
      TURNBELL_NODE: cli.node,
      ...env,
    },
  })
  // The terminal sends Ctrl-C to the client itself. Signals to this process are forwarded.
  const ignore = () => {}
  const pass = (os_signal: NodeJS.Signals) => void child.kill(os_signal)
  process.on('SIGINT', ignore)
  process.on('SIGTERM', pass)
  process.on('SIGHUP', pass)
  return new Promise<number>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(
        new TurnbellError('client_missing', {
          detail: `${client} could not be started: ${cause.message}`,
          cause,
        }),
      ),
    )
    child.once('exit', (code, os_signal) => resolve(code ?? 128 + osSignalNumber(os_signal)))
  }).finally(() => {
    process.off('SIGINT', ignore)
    process.off('SIGTERM', pass)
    process.off('SIGHUP', pass)
  })
}

const osSignalNumber = (os_signal: NodeJS.Signals | null) =>
  os_signal === null ? 0 : os.constants.signals[os_signal]

const NewSession = z.object({ id: z.string() })

async function newSession(server: ServerAddress, directory: string): Promise<string> {
  const route = `${serverUrl(server)}/session?directory=${encodeURIComponent(directory)}`
  const refused = (detail: string, cause?: unknown) =>
    new TurnbellError('timed_out', {
      detail: `The opencode server did not create a session: ${detail}.`,
      hint: 'Try again, or read the log of its worker in `logs/`.',
      cause,
    })
  const response = await fetch(route, {
    method: 'POST',
    headers: { authorization: serverAuthorization(server), 'content-type': 'application/json' },
    body: '{}',
    signal: AbortSignal.timeout(LIMITS.process_start_ms),
  }).catch((cause: unknown) => {
    throw refused('it did not answer', cause)
  })
  const session = response.ok ? parseJsonAs(NewSession, await response.text()) : null
  if (session === null) throw refused(`HTTP ${response.status}`)
  return session.id
}
