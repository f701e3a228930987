/**
 * `turnbell run`: the persona's client, wired to it for this one run. Everything is handed over as
 * arguments and environment; the client's own settings stay as they are.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Command } from 'commander'
import * as z from 'zod'
import { TurnbellError } from '../../contracts/errors.ts'
import { ClientKind } from '../../contracts/ids.ts'
import { jsonAs } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { Persona } from '../../contracts/registry.ts'
import { pause } from '../../ports/pause.ts'
import { outputBeside, startInBackground } from '../../system/background.ts'
import { clientProgram, withoutOuterSession } from '../../system/clients.ts'
import { codexPlace } from '../../system/codex-place.ts'
import { prepareHome, workerLog } from '../../system/home.ts'
import { joined } from '../../system/joined.ts'
import { notedProcess } from '../../system/lasting-process.ts'
import { listens } from '../../system/local-socket.ts'
import {
  opencodePlace,
  serverAuthorization,
  serverUrl,
  type ServerAddress,
} from '../../system/opencode-place.ts'
import { shellWord } from '../../system/shell-word.ts'
import { serverWish } from '../../system/server-wish.ts'
import { workingDirectory } from '../../system/shim-place.ts'
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
import { startHubBeside } from '../start-hub.ts'
import { daemonPid } from '../stop-daemon.ts'

const USUAL: ClientKind = 'claude-code'

export function registerRun(program: Command, cli: Cli): void {
  const command = program
    .command('run')
    .description(
      "start the persona's Claude Code, Codex or opencode, wired to it; its own settings stay untouched",
    )
    .requiredOption('--persona <name>', 'who the session acts for', parseIdentity)
    .argument('[args...]', "behind --: the client's own arguments")
    .addHelpText(
      'after',
      examples([
        ['turnbell run --persona ada', 'a session that is rung once per turn when signals wait'],
        ['turnbell run --persona ada -- --continue', 'what stands behind -- goes to the client'],
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
  const { surface = USUAL, acp, headless } = invocation.config().personas[persona] ?? {}
  // The session of a Claude Code without a window cannot be joined: this would be a second agent of the persona.
  if (acp !== undefined || (surface === 'claude-code' && headless === true)) {
    const how = acp === undefined ? '' : ', by the Agent Client Protocol'
    throw new TurnbellError('usage_invalid', {
      detail: `The agent of ${persona} has no window: its daemon keeps it${how}.`,
      hint: `Start its daemon: \`turnbell up\` (all of them) or \`turnbell daemon --persona ${persona}\`.`,
    })
  }
  const client = ClientKind.safeParse(surface)
  if (client.success) return client.data
  throw new TurnbellError('usage_invalid', {
    detail: `${persona} is reached at ${surface}, which \`turnbell run\` does not start.`,
    hint: `Start it as usual, or \`turnbell persona add ${persona} --surface ${USUAL}\`.`,
  })
}

async function ensureHub(invocation: Invocation): Promise<void> {
  if (await invocation.hub().ready()) return
  startHubBeside(invocation)
  await becomes(invocation, 'the hub is ready', [invocation.home.hub_log], () => invocation.hub().ready())
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
      hint: `\`turnbell persona list\` names those there are; \`turnbell persona add ${persona} --surface ${surface}\` makes it.`,
    })
  }
  if (known === null) {
    await invocation.hub().call('personas', 'add', { identity: persona, surface })
    invocation.out.note(`${persona} is new; the hub knows it now.`)
  } else if (known.state !== 'active') {
    throw new TurnbellError('persona_wrapped', {
      detail: `${persona} is ${known.state}.`,
      hint: `Bring it back with \`turnbell persona add ${persona} --surface ${surface}\`.`,
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
  out.note(
    `No daemon runs for ${persona}; starting one in the background, where it stays until \`turnbell down\`.`,
  )
  const args = ['daemon', '--home', home.root, '--persona', persona, '--surface', surface]
  startInBackground(cli.program, args, log, cli.env)
  await becomes(invocation, `the daemon of ${persona} is ready`, [log], answers)
}

/** Codex is joined at an app-server of the persona's own, which its shim starts when it is asked for. */
async function joinCodex(
  invocation: Invocation,
  persona: string,
  args: readonly string[],
): Promise<string[]> {
  const { cli } = invocation
  const { codex_socket, log, run_dir } = invocation.paths(persona)
  serverWish(run_dir, 'codex').ask()
  const worker = workerLog(invocation.home, persona, 'codex')
  await becomes(invocation, `the app-server of ${persona} listens`, [worker, log], () =>
    listens(codex_socket),
  )
  // An agent without a window is joined in its own thread, where it works.
  const directory = headlessDirectory(invocation, persona)
  const kept = directory === null ? null : codexPlace(run_dir).joinableThread()
  return codexArguments(codex_socket, directory ?? cli.cwd, args, kept)
}

/** Where an agent without a window works; null for the others. */
function headlessDirectory({ home, config }: Invocation, identity: string): string | null {
  const settings = config().personas[identity]
  return settings?.headless === true ? workingDirectory({ home, identity, settings }) : null
}

/**
 * opencode is joined at the server that the persona's daemon keeps. The client itself would make a session
 * only with its first prompt, and could not be rung before.
 */
async function joinOpencode(invocation: Invocation, persona: string, args: readonly string[]) {
  const { cli } = invocation
  const { run_dir, log } = invocation.paths(persona)
  const place = opencodePlace(run_dir)
  serverWish(run_dir, 'opencode').ask()
  const worker = workerLog(invocation.home, persona, 'opencode')
  await becomes(invocation, `the opencode server of ${persona} answers`, [worker, log], async () => {
    const server = place.server()
    return server?.attached === true && listens({ host: '127.0.0.1', port: server.port })
  })
  const server = place.server() as ServerAddress
  // An agent without a window is joined in its own session, where it works.
  const headless = headlessDirectory(invocation, persona)
  const kept = headless === null ? null : place.windowless()
  const { directory, session_id } = opencodeTarget(args, { cwd: cli.cwd, headless, kept })
  const session = session_id === undefined ? await newSession(server, directory) : session_id
  // The shim follows this; the server tells of a new session only those that have listened for a while.
  const bound = session ?? namedSession(args)
  if (bound !== null) place.keepBound({ session_id: bound, directory })
  return {
    words: opencodeArguments(serverUrl(server), { directory, args, session }),
    // Read by the client; among the arguments everybody on this machine could read it.
    env: { OPENCODE_SERVER_PASSWORD: server.password },
  }
}

/** While a person is there, what the agent asks is theirs to answer. */
async function whileJoined<T>(
  invocation: Invocation,
  persona: string,
  surface: ClientKind,
  stay: () => Promise<T>,
): Promise<T> {
  const persons = joined(invocation.paths(persona).run_dir, surface)
  persons.join(process.pid)
  return stay().finally(async () => {
    persons.leave(process.pid)
    if (!persons.isJoined()) await endAbandonedServer(invocation, persona, surface)
  })
}

/** A daemon that was stopped left its server to the clients; the last of them ends it. */
async function endAbandonedServer(
  invocation: Invocation,
  persona: string,
  surface: ClientKind,
): Promise<void> {
  const runs = await daemonPid(invocation, persona).then(
    (pid) => pid !== null,
    // It is there, and cannot be asked.
    () => true,
  )
  if (runs) return
  notedProcess(path.join(invocation.paths(persona).run_dir, `${surface}.pid`)).stop()
}

function isUnreachable(error: unknown): false {
  if (error instanceof TurnbellError && error.code === 'daemon_unreachable') return false
  throw error
}

const POLL_MS = 50

/** Waits for a process that works in the background, and says so where it takes long. */
async function becomes(
  { cli, out }: Invocation,
  what: string,
  logs: readonly string[],
  holds: () => Promise<boolean>,
): Promise<void> {
  const began = cli.clock.monotonic()
  let told = false
  while (!(await holds())) {
    const waited_ms = cli.clock.monotonic() - began
    if (waited_ms > LIMITS.process_start_ms) {
      const written = logs.flatMap((log) => [log, outputBeside(log)]).filter((file) => fs.existsSync(file))
      throw new TurnbellError('timed_out', {
        detail: `Not within ${LIMITS.process_start_ms / 1000} s: ${what}.`,
        hint:
          written.length === 0
            ? `It has written no log yet; try again, or look with \`turnbell doctor\`.`
            : `Why, it says at the end of ${written.map(shellWord).join(' or of ')}.`,
      })
    }
    if (!told && waited_ms > LIMITS.process_start_told_ms) {
      out.note(`Waiting until ${what}; ${logs[0]} tells what it does.`)
      told = true
    }
    await pause(cli.clock, POLL_MS)
  }
}

/** Resolves with the client's exit code; 128 and the number for one that an os signal ended. */
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
  // Ctrl-C in the terminal reaches the client itself; what ends only us is passed on.
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
      detail: `The opencode server began no session: ${detail}`,
      hint: 'Try again; the log of its worker, in `logs/`, says more.',
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
  const session = response.ok ? jsonAs(NewSession, await response.text()) : null
  if (session === null) throw refused(`${response.status}`)
  return session.id
}
