/**
 * `turnbell run`: the persona's client, wired to it for this one run. Everything is handed over as
 * arguments and environment; the client's own settings stay as they are.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { PersonaOverview } from '../../contracts/registry.ts'
import { outputBeside, startInBackground } from '../../system/background.ts'
import { prepareHome } from '../../system/home.ts'
import { type Cli, invocationOf, type Invocation, parseIdentity } from '../cli.ts'
import { examples } from '../render.ts'

const SURFACE = 'claude-code'

export function registerRun(program: Command, cli: Cli): void {
  const command = program
    .command('run')
    .description("start the persona's Claude Code, wired to it; its own settings stay untouched")
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
    requireClaudeCode(invocation, persona)
    const client = findClient(invocation)
    prepareHome(invocation.home)
    await ensureHub(invocation)
    await requireActive(invocation, persona)
    await ensureDaemon(invocation, persona)
    cli.exitWith(await runClient(invocation, client, persona, args))
  })
}

function requireClaudeCode(invocation: Invocation, persona: string): void {
  const surface = invocation.config().personas[persona]?.surface ?? SURFACE
  if (surface === SURFACE) return
  throw new TurnbellError('usage_invalid', {
    detail: `${persona} is reached at ${surface}, which \`turnbell run\` does not start.`,
    hint: `Start it as usual, or \`turnbell persona add ${persona} --surface ${SURFACE}\`.`,
  })
}

/** The configured program, else `claude` on PATH. */
function findClient({ cli, config, home }: Invocation): string {
  const configured = config().clients.claude_code
  const candidates =
    configured === undefined
      ? (cli.env['PATH'] ?? '')
          .split(path.delimiter)
          .filter((directory) => directory !== '')
          .map((directory) => path.join(directory, 'claude'))
      : [path.resolve(home.root, configured)]
  const found = candidates.find(isExecutable)
  if (found !== undefined) return found
  throw new TurnbellError('client_missing', {
    detail:
      configured === undefined
        ? 'There is no `claude` on PATH.'
        : `${configured} cannot be run (clients.claude_code).`,
    hint: `Install Claude Code, or name it in ${home.config}: \`clients: {claude_code: /path/to/claude}\`.`,
  })
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return fs.statSync(file).isFile()
  } catch {
    return false
  }
}

async function ensureHub(invocation: Invocation): Promise<void> {
  const { cli, home, out } = invocation
  if (await invocation.hub().ready()) return
  out.note('No hub runs; starting one in the background.')
  startInBackground(cli.program, ['hub', '--home', home.root], home.hub_log, cli.env)
  await becomes(cli, 'the hub is ready', home.hub_log, () => invocation.hub().ready())
}

async function requireActive(invocation: Invocation, persona: string): Promise<void> {
  const known = await invocation
    .hub()
    .ask(
      'personas',
      'get',
      { identity: persona },
      PersonaOverview.partial({ pending_count: true, registrations: true }),
    )
    .catch((error: unknown) => {
      if (error instanceof TurnbellError && error.code === 'target_unknown') return null
      throw error
    })
  if (known === null) {
    await invocation.hub().call('personas', 'add', { identity: persona, surface: SURFACE })
    invocation.out.note(`${persona} is new; the hub knows it now.`)
  } else if (known.state !== 'active') {
    throw new TurnbellError('persona_wrapped', {
      detail: `${persona} is ${known.state}.`,
      hint: `Bring it back with \`turnbell persona add ${persona} --surface ${SURFACE}\`.`,
    })
  }
}

async function ensureDaemon(invocation: Invocation, persona: string): Promise<void> {
  const { cli, home, out } = invocation
  const answers = () =>
    invocation
      .control(persona)
      .status()
      .then(() => true, isUnreachable)
  if (await answers()) return
  const log = invocation.paths(persona).log
  out.note(`No daemon runs for ${persona}; starting one in the background.`)
  const args = ['daemon', '--home', home.root, '--persona', persona, '--surface', SURFACE]
  startInBackground(cli.program, args, log, cli.env)
  await becomes(cli, `the daemon of ${persona} is ready`, log, answers)
}

function isUnreachable(error: unknown): false {
  if (error instanceof TurnbellError && error.code === 'daemon_unreachable') return false
  throw error
}

const POLL_MS = 50

/** Waits for a process that was started in the background. */
async function becomes(cli: Cli, what: string, log: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = cli.clock.monotonic() + LIMITS.process_start_ms
  while (!(await holds())) {
    if (cli.clock.monotonic() > deadline) {
      throw new TurnbellError('timed_out', {
        detail: `Not within ${LIMITS.process_start_ms / 1000} s: ${what}.`,
        hint: `The end of ${log} or of ${outputBeside(log)} says why.`,
      })
    }
    await new Promise<void>((resolve) => cli.clock.after(POLL_MS, resolve))
  }
}

/** Resolves with the client's exit code; 128 and the number for one that an os signal ended. */
function runClient({ cli, home }: Invocation, client: string, persona: string, args: readonly string[]) {
  const plugin = path.join(path.dirname(cli.program), 'adapters', SURFACE)
  const child = spawn(client, clientArguments(plugin, persona, args), {
    stdio: 'inherit',
    env: {
      ...withoutOuterSession(cli.env),
      TURNBELL_HOME: home.root,
      TURNBELL_PERSONA: persona,
      TURNBELL_NODE: cli.node,
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

const NUMBERS: Partial<Record<NodeJS.Signals, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }
const osSignalNumber = (os_signal: NodeJS.Signals | null) =>
  os_signal === null ? 0 : (NUMBERS[os_signal] ?? 0)

/** The session gets an id of its own, unless the arguments choose one or continue another. */
export function clientArguments(plugin: string, persona: string, args: readonly string[]): string[] {
  const has = (...names: string[]) =>
    args.some((arg) => names.some((name) => arg === name || arg.startsWith(`${name}=`)))
  const chosen = has('--session-id', '--resume', '-r', '--continue', '-c', '--fork-session', '--from-pr')
  return [
    '--plugin-dir',
    plugin,
    ...(chosen ? [] : ['--session-id', randomUUID()]),
    ...(has('--name', '-n') ? [] : ['--name', persona]),
    ...args,
  ]
}

/** Variables with which a Claude Code session marks the processes it starts. */
const MARKS = /^(CLAUDECODE|CLAUDE_PID|CLAUDE_CODE_(SESSION_ID|MESSAGING_SOCKET|MESSAGING_TOKEN|ENTRYPOINT))$/
const OUTER =
  /^(CLAUDECODE|CLAUDE_PID|CLAUDE_ENV_FILE|CLAUDE_PROJECT_DIR|CLAUDE_PLUGIN_.*|CLAUDE_CODE_.*|AI_AGENT)$/

/**
 * A session that is started from within another must not take itself for its child. Where there is no
 * outer session the same prefix only carries a person's own settings, which stay.
 */
export function withoutOuterSession(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const outer = Object.keys(env).some((name) => MARKS.test(name))
  const dropped = (name: string) =>
    (outer && OUTER.test(name)) || /^TURNBELL_(HOST_PID|RESPAWN|SESSION_ID)$/.test(name)
  return Object.fromEntries(Object.entries(env).filter(([name]) => !dropped(name)))
}
