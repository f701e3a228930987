/** `turnbell connect|disconnect`: wires a client, started by its own command, to a persona. */
import { Argument, type Command } from 'commander'
import { shellWord } from '../../system/process/shell-word.ts'
import { hookCommand, HOOK_EVENTS } from '../connect/codex.ts'
import { trustHooks } from '../connect/codex-trust.ts'
import { connect, disconnect, projectDirectory, rememberTrust } from '../connect/connect.ts'
import { hooksSwitchedOff } from '../connect/hook-policy.ts'
import { otherProject } from '../connect/persona-mismatch.ts'
import { targetOf } from '../connect/connection-target.ts'
import {
  Connectable,
  connectionsIn,
  type ClientConnection,
  type Connection,
} from '../connect/connection-record.ts'
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { describeDisconnected, disconnectAll } from '../connect/disconnect-all.ts'
import { codexAt, revokeTrust } from '../connect/revoke-trust.ts'
import { fileLines, gitLines, isLeft, leftLines, printPatch, summaryOf } from '../connect/report.ts'
import { runConnectGit, runDisconnectGit } from './connect-git.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { ClientKind } from '../../contracts/ids.ts'
import { nearest } from '../../contracts/text/names.ts'
import { personaAddHint, unknownPersona } from '../../contracts/errors/unknown-persona.ts'
import { type Cli, invocationOf, type Invocation, parseIdentity } from '../cli.ts'
import { daemonRuns } from '../control-client.ts'
import { knownPersonas, unknownPersonaNote } from '../personas/known.ts'
import { examples } from '../render.ts'

interface Options {
  persona?: string
  project?: string
  print?: boolean
  trustHooks?: boolean
}

export function registerConnect(program: Command, cli: Cli): void {
  const client = (name = '<client>') => new Argument(name, 'the client, or git').choices(Connectable.options)

  const connecting = program
    .command('connect')
    .description(
      "wire a client to a persona in one project, so that the client's own command starts it with doorbells; or let git notify turnbell of commits",
    )
    .addArgument(client())
    .option('--persona <name>', 'the persona that the client acts for; not for git', parseIdentity)
    .option('--project <dir>', 'the project (the current directory)')
    .option('--print', 'only show what would be written, as a diff')
    .option('--trust-hooks', "codex: also mark turnbell's hooks as trusted in your Codex configuration")
    .addHelpText(
      'after',
      examples([
        [
          'turnbell connect claude-code --persona ada',
          'from now on, `claude` in this directory acts for ada',
        ],
        ['turnbell connect codex --persona bob --print', 'shows what it would write'],
        ['turnbell connect git', 'each commit archives old entries'],
        ['turnbell disconnect claude-code', 'removes exactly what was written'],
      ]),
    )
  connecting.action((kind: Connectable, options: Options) => {
    const invocation = invocationOf(cli, connecting)
    return kind === 'git' ? runConnectGit(invocation, options) : runConnect(invocation, kind, options)
  })

  const disconnecting = program
    .command('disconnect')
    .description('remove exactly what connect wrote')
    .addArgument(client('[client]'))
    .option('--persona <name>', 'only if it acts for this persona', parseIdentity)
    .option('--project <dir>', 'the project (the current directory)')
    .option('--all', 'all connections of this home, in every project')
    .option('--print', 'only show what would be removed, as a diff')
    .addHelpText(
      'after',
      examples([
        ['turnbell disconnect codex --project ~/code/shop', ''],
        ['turnbell disconnect --all', 'also connections whose project is gone'],
      ]),
    )
  disconnecting.action((kind: Connectable | undefined, options: Options & { all?: boolean }) => {
    const invocation = invocationOf(cli, disconnecting)
    if (options.all === true) return runDisconnectAll(invocation, kind, options)
    if (kind === undefined) {
      throw new TurnbellError('usage_invalid', {
        detail: 'No client is named.',
        hint: `Name one of ${Connectable.options.join(', ')}, or use --all.`,
      })
    }
    return kind === 'git' ? runDisconnectGit(invocation, options) : runDisconnect(invocation, kind, options)
  })
}

async function runConnect(invocation: Invocation, client: ClientKind, options: Options): Promise<void> {
  const { cli, out } = invocation
  const { persona, print = false } = options
  if (persona === undefined) throw personaMissing(client)
  const project = projectDirectory(cli.cwd, options.project)
  const is_known = await isKnown(invocation, persona, client)
  requireSurface(invocation, persona, client)
  if (options.trustHooks === true && client !== 'codex') {
    throw new TurnbellError('usage_invalid', {
      detail: `--trust-hooks is only for codex; ${client} runs its hooks without it.`,
      hint: 'Omit it.',
    })
  }
  const outcome = await connect(invocation, { client, persona, project, print })
  if (!is_known) out.note(unknownPersonaNote(persona, []))
  const persona_project = otherProject(invocation.config().personas[persona], project)
  if (print) {
    if (options.trustHooks === true)
      out.note('Codex would also be set to trust these hooks, in its own config.toml.')
    return printPatch(invocation, outcome)
  }
  const connection = outcome.connection as ClientConnection
  const trusted =
    options.trustHooks === true && client === 'codex' ? await trust(invocation, connection) : null
  const daemon_running = await daemonRuns(invocation.control(persona))
  const off = hooksSwitchedOff(cli, client, project)
  const result = {
    ...summaryOf(outcome),
    daemon_running,
    /** The persona's project, if it is another one. */
    persona_project,
    hooks_off: off?.detail ?? null,
    ...(trusted === null ? {} : { trusted_hooks: trusted }),
  }
  await out.result(result, () =>
    [
      outcome.plan.changed
        ? `${client} in ${project} acts for ${persona}.`
        : `${client} in ${project} already acts for ${persona}; nothing was changed.`,
      ...(persona_project === null
        ? []
        : [
            `The project of ${persona} is ${persona_project}; clients in both projects now act for this persona.`,
          ]),
      ...fileLines(outcome),
      ...gitLines(outcome),
      ...(off === null ? [] : [`${off.detail}.`, off.hint]),
      ...adviceFor(client, connection, trusted),
      ...(daemon_running ? [] : [daemonAdvice(invocation, client, connection)]),
    ].join('\n'),
  )
}

/** Returns whether the persona exists. Throws for an unknown name that is similar to a known one. */
async function isKnown(invocation: Invocation, persona: string, client: ClientKind): Promise<boolean> {
  if (invocation.config().personas[persona] !== undefined) return true
  const known = await knownPersonas(invocation)
  if (known.includes(persona) || nearest(persona, known) === null) return known.includes(persona)
  throw unknownPersona(persona, { known, hint: personaAddHint(persona, client) })
}

function personaMissing(client: ClientKind): TurnbellError {
  return new TurnbellError('usage_invalid', {
    detail: `--persona <name> is missing: ${client} must act for a persona.`,
    hint: 'Add --persona with one of `turnbell persona list`.',
  })
}

function otherConnections({ home }: Invocation, client: ClientKind): string[] {
  return connectionsIn(home)
    .all()
    .flatMap((connection) =>
      connection.client === client ? [`It acts for ${connection.persona} in ${connection.project}.`] : [],
    )
}

/**
 * Throws `usage_invalid` if the daemon would not ring this client, because the persona has another surface. With the
 * surface `mcp`, any client may attach.
 */
function requireSurface({ config }: Invocation, persona: string, client: ClientKind): void {
  const settings = config().personas[persona]
  const { surface = client } = settings ?? {}
  if (settings?.headless === true) {
    throw new TurnbellError('usage_invalid', {
      detail: `${persona} is headless: its daemon runs a session of ${surface}, and a plain ${client} would be a second agent of the same persona.`,
      hint:
        surface === 'claude-code'
          ? `Connect another persona, or remove \`headless\` from personas.${persona} in the configuration.`
          : `Join its session with \`turnbell run --persona ${persona}\`, or connect another persona.`,
    })
  }
  if ((surface === client || surface === 'mcp') && settings?.acp === undefined) return
  throw new TurnbellError('usage_invalid', {
    detail: `${persona} is reached ${settings?.acp === undefined ? `at ${surface}` : 'by the Agent Client Protocol'}, so its daemon would not ring a plain ${client}.`,
    hint: `Connect another persona, or run \`turnbell persona add ${persona} --surface ${client}\` first.`,
  })
}

async function runDisconnect(
  invocation: Invocation,
  client: ClientKind,
  { persona, print = false, ...options }: Options,
): Promise<void> {
  const { cli, out } = invocation
  const project = projectDirectory(cli.cwd, options.project, { gone: true })
  const outcome = await disconnect(invocation, { client, persona, project, print }, (connection) =>
    revokeTrust(invocation, connection),
  )
  if (print) return printPatch(invocation, outcome)
  if (isLeft(outcome)) cli.exitWith(EXIT.failed)
  await out.result({ ...summaryOf(outcome), client, project }, () =>
    [
      outcome.connection === null
        ? [
            `${client} in ${project} is not connected; nothing was changed.`,
            ...otherConnections(invocation, client),
          ].join('\n')
        : `${client} in ${project} no longer acts for ${(outcome.connection as ClientConnection).persona}. Sessions that are running still do.`,
      ...fileLines(outcome),
      ...outcome.plan.files
        .filter(({ change, recorded }) => change === 'kept' && recorded === null)
        .map(
          ({ file }) =>
            `${file} was edited after it was written, so it stays; remove it by hand if you do not need it.`,
        ),
      ...leftLines(outcome),
    ].join('\n'),
  )
}

/** Disconnects the others too if one of them fails. */
async function runDisconnectAll(
  invocation: Invocation,
  client: Connectable | undefined,
  { persona, project, print = false }: Options,
): Promise<void> {
  if (client !== undefined || persona !== undefined || project !== undefined || print) {
    throw new TurnbellError('usage_invalid', {
      detail: '--all cannot be combined with a client, --persona, --project or --print.',
      hint: 'Run `turnbell doctor` to list the connections.',
    })
  }
  const result = await disconnectAll(invocation)
  if (!result.ok) invocation.cli.exitWith(EXIT.failed)
  await invocation.out.result(result, () => describeDisconnected(result))
}

/** Marks the hooks as trusted on the user's behalf. Called only with --trust-hooks, and prints the commands. */
async function trust(invocation: Invocation, connection: ClientConnection): Promise<string[]> {
  const place = targetOf(invocation, connection.persona, connection.project)
  const commands = HOOK_EVENTS.map((event) => hookCommand(place, event))
  invocation.out.note(
    `Marking these commands as trusted in Codex, which then runs them outside its sandbox:\n${commands.map((line) => `  ${line}`).join('\n')}`,
  )
  const { trusted, given } = await trustHooks(codexAt(invocation, connection.project), commands).catch(
    (error: unknown) => {
      if (error instanceof TurnbellError)
        invocation.out.note('Everything except the trust is written; run the same command again to retry.')
      throw error
    },
  )
  await rememberTrust(invocation, connection, given)
  return trusted
}

function adviceFor(
  client: ClientKind,
  { project, trusted_hooks }: Connection,
  trusted: string[] | null,
): string[] {
  if (client !== 'codex') return ['Restart running sessions to apply this.']
  const first = `Codex reads this once you trust ${project}; it asks at its first start there.`
  if (trusted !== null && trusted.length < HOOK_EVENTS.length)
    return [
      first,
      `Codex lists only ${trusted.length} of these ${HOOK_EVENTS.length} hooks, so the others could not be trusted. Start Codex there once, then run the same command again.`,
    ]
  const none = (trusted ?? trusted_hooks).length === 0
  return [
    first,
    ...(none
      ? [
          `It also asks whether to trust ${HOOK_EVENTS.length} hooks. They report the begin and end of turns to your own hub and send nothing else.`,
          '`turnbell connect codex … --trust-hooks` answers yes for you. Untrusted hooks do not run.',
        ]
      : []),
  ]
}

function daemonAdvice(
  { config }: Invocation,
  client: ClientKind,
  { persona, project }: ClientConnection,
): string {
  const known = config().personas[persona] !== undefined
  const add = `turnbell persona add ${persona} --surface ${client} --project ${shellWord(project)}`
  return [
    `No daemon runs for ${persona}, so it gets no doorbells yet. Run:`,
    ...(known ? [] : [`  ${add}`]),
    '  turnbell up                              # while you work',
    `  turnbell service install --hub && turnbell service install --persona ${persona}   # or permanently`,
  ].join('\n')
}
