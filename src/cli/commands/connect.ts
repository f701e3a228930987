/** `turnbell connect|disconnect`: a client that a person starts by its own name, wired to a persona. */
import { Argument, type Command } from 'commander'
import { shellWord } from '../../system/shell-word.ts'
import { hookCommand, HOOK_EVENTS } from '../connect/codex.ts'
import { trustHooks } from '../connect/codex-trust.ts'
import { connect, disconnect, projectDirectory, rememberTrust } from '../connect/connect.ts'
import { hooksSwitchedOff } from '../connect/hook-policy.ts'
import { otherProject } from '../connect/misfit.ts'
import { placeOf } from '../connect/place.ts'
import { Connectable, connectionsIn, type ClientConnection, type Connection } from '../connect/record.ts'
import { EXIT } from '../../contracts/exit-codes.ts'
import { describeDisconnected, disconnectAll } from '../connect/disconnect-all.ts'
import { codexAt, takeTrustBack } from '../connect/take-trust-back.ts'
import { fileLines, gitLines, isLeft, leftLines, printPatch, summaryOf } from '../connect/told.ts'
import { runConnectGit, runDisconnectGit } from './connect-git.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { ClientKind } from '../../contracts/ids.ts'
import { nearest } from '../../contracts/names.ts'
import { makePersona, unknownPersona } from '../../contracts/unknown-persona.ts'
import { type Cli, invocationOf, type Invocation, parseIdentity } from '../cli.ts'
import { daemonRuns } from '../control-client.ts'
import { knownPersonas, notMade } from '../personas/known.ts'
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
      "wire a client to a persona in one project, so that the client's own command starts it rung; or have git tell of commits",
    )
    .addArgument(client())
    .option('--persona <name>', 'who the client acts for there; git acts for nobody', parseIdentity)
    .option('--project <dir>', 'the project (the current directory)')
    .option('--print', 'only show what would be written, as a diff')
    .option('--trust-hooks', "codex: also tell Codex to trust turnbell's hooks, in your own configuration")
    .addHelpText(
      'after',
      examples([
        ['turnbell connect claude-code --persona ada', 'a plain `claude` here is ada from now on'],
        ['turnbell connect codex --persona bob --print', 'what it would write'],
        ['turnbell connect git', 'each commit archives what has had its time'],
        ['turnbell disconnect claude-code', 'takes back exactly what was written'],
      ]),
    )
  connecting.action((kind: Connectable, options: Options) => {
    const invocation = invocationOf(cli, connecting)
    return kind === 'git' ? runConnectGit(invocation, options) : runConnect(invocation, kind, options)
  })

  const disconnecting = program
    .command('disconnect')
    .description('take back exactly what connect wrote')
    .addArgument(client('[client]'))
    .option('--persona <name>', 'only if it acts for this one', parseIdentity)
    .option('--project <dir>', 'the project (the current directory)')
    .option('--all', 'everything that this home has connected, in every project')
    .option('--print', 'only show what would be taken out, as a diff')
    .addHelpText(
      'after',
      examples([
        ['turnbell disconnect codex --project ~/code/shop', ''],
        ['turnbell disconnect --all', 'also where the project is gone'],
      ]),
    )
  disconnecting.action((kind: Connectable | undefined, options: Options & { all?: boolean }) => {
    const invocation = invocationOf(cli, disconnecting)
    if (options.all === true) return runDisconnectAll(invocation, kind, options)
    if (kind === undefined) {
      throw new TurnbellError('usage_invalid', {
        detail: `Name what is to be disconnected: ${Connectable.options.join(', ')}, or --all.`,
        hint: 'See `turnbell disconnect --help`.',
      })
    }
    return kind === 'git' ? runDisconnectGit(invocation, options) : runDisconnect(invocation, kind, options)
  })
}

async function runConnect(invocation: Invocation, client: ClientKind, options: Options): Promise<void> {
  const { cli, out } = invocation
  const { persona, print = false } = options
  if (persona === undefined) throw nobodyNamed(client)
  const project = projectDirectory(cli.cwd, options.project)
  const is_known = await isKnown(invocation, persona, client)
  requireSurface(invocation, persona, client)
  if (options.trustHooks === true && client !== 'codex') {
    throw new TurnbellError('usage_invalid', {
      detail: `--trust-hooks is for codex; ${client} runs what connect writes without it.`,
      hint: 'Leave it out.',
    })
  }
  const outcome = await connect(invocation, { client, persona, project, print })
  if (!is_known) out.note(notMade(persona, []))
  const persona_project = otherProject(invocation.config().personas[persona], project)
  if (print) {
    if (options.trustHooks === true)
      out.note('Besides, Codex would be told to trust these hooks, in its own config.toml.')
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
    /** Where it belongs, if not here. */
    persona_project,
    hooks_off: off?.detail ?? null,
    ...(trusted === null ? {} : { trusted_hooks: trusted }),
  }
  await out.result(result, () =>
    [
      outcome.plan.changed
        ? `${client} in ${project} acts for ${persona}.`
        : `${client} in ${project} acts for ${persona} already; nothing was changed.`,
      ...(persona_project === null
        ? []
        : [
            `The project of ${persona} is another one, ${persona_project}: both act for the same persona now.`,
          ]),
      ...fileLines(outcome),
      ...gitLines(outcome),
      ...(off === null ? [] : [`${off.detail}.`, off.hint]),
      ...adviceFor(client, connection, trusted),
      ...(daemon_running ? [] : [daemonAdvice(invocation, client, connection)]),
    ].join('\n'),
  )
}

/** Refuses an unknown name that is close to a known one. Other new names are allowed. */
async function isKnown(invocation: Invocation, persona: string, client: ClientKind): Promise<boolean> {
  if (invocation.config().personas[persona] !== undefined) return true
  const known = await knownPersonas(invocation)
  if (known.includes(persona) || nearest(persona, known) === null) return known.includes(persona)
  throw unknownPersona(persona, { known, hint: makePersona(persona, client) })
}

function nobodyNamed(client: ClientKind): TurnbellError {
  return new TurnbellError('usage_invalid', {
    detail: `--persona <name> is missing: ${client} has to act for somebody.`,
    hint: 'Name who it acts for in this project; `turnbell persona list` tells who there is.',
  })
}

function elsewhere({ home }: Invocation, client: ClientKind): string[] {
  return connectionsIn(home)
    .all()
    .flatMap((one) => (one.client === client ? [`It acts for ${one.persona} in ${one.project}.`] : []))
}

/** Its daemon looks for the agent where its surface says; with `mcp` it waits for whoever attaches. */
function requireSurface({ config }: Invocation, persona: string, client: ClientKind): void {
  const settings = config().personas[persona]
  const { surface = client } = settings ?? {}
  if (settings?.headless === true) {
    throw new TurnbellError('usage_invalid', {
      detail: `The agent of ${persona} has no window: its daemon keeps a session of ${surface} by itself, and a plain ${client} would be a second agent of the same persona.`,
      hint:
        surface === 'claude-code'
          ? `Connect another persona, or take \`headless\` out of personas.${persona} in the configuration.`
          : `Sit down at its session with \`turnbell run --persona ${persona}\`, or connect another persona.`,
    })
  }
  if ((surface === client || surface === 'mcp') && settings?.acp === undefined) return
  throw new TurnbellError('usage_invalid', {
    detail: `${persona} is reached ${settings?.acp === undefined ? `at ${surface}` : 'by the Agent Client Protocol'}, so its daemon would not ring a plain ${client}.`,
    hint: `Connect another persona, or first \`turnbell persona add ${persona} --surface ${client}\`.`,
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
    takeTrustBack(invocation, connection),
  )
  if (print) return printPatch(invocation, outcome)
  if (isLeft(outcome)) cli.exitWith(EXIT.failed)
  await out.result({ ...summaryOf(outcome), client, project }, () =>
    [
      outcome.connection === null
        ? [
            `${client} in ${project} is not connected; nothing was changed.`,
            ...elsewhere(invocation, client),
          ].join('\n')
        : `${client} in ${project} acts for ${(outcome.connection as ClientConnection).persona} no more. A session that runs still does.`,
      ...fileLines(outcome),
      ...outcome.plan.files
        .filter(({ change, recorded }) => change === 'kept' && recorded === null)
        .map(({ file }) => `${file} was edited since and stays; remove it by hand if you do not want it.`),
      ...leftLines(outcome),
    ].join('\n'),
  )
}

/** One that cannot be taken back keeps none of the others from it. */
async function runDisconnectAll(
  invocation: Invocation,
  client: Connectable | undefined,
  { persona, project, print = false }: Options,
): Promise<void> {
  if (client !== undefined || persona !== undefined || project !== undefined || print) {
    throw new TurnbellError('usage_invalid', {
      detail: '--all takes no client, and neither --persona, --project nor --print.',
      hint: '`turnbell doctor` lists what is connected.',
    })
  }
  const result = await disconnectAll(invocation)
  if (!result.ok) invocation.cli.exitWith(EXIT.failed)
  await invocation.out.result(result, () => describeDisconnected(result))
}

/** Trust is given on a person's behalf: only when the person says so, and told. */
async function trust(invocation: Invocation, connection: ClientConnection): Promise<string[]> {
  const place = placeOf(invocation, connection.persona, connection.project)
  const commands = HOOK_EVENTS.map((event) => hookCommand(place, event))
  invocation.out.note(
    `Telling Codex to trust these commands, which it then runs outside its sandbox:\n${commands.map((line) => `  ${line}`).join('\n')}`,
  )
  const { trusted, given } = await trustHooks(codexAt(invocation, connection.project), commands).catch(
    (error: unknown) => {
      if (error instanceof TurnbellError)
        invocation.out.note('Everything but the trust is written; the same command again tries it once more.')
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
  if (client !== 'codex') return ['Sessions that run already take it up when they are started anew.']
  const first = `Codex reads this once you trust ${project}; it asks at its first start there.`
  if (trusted !== null && trusted.length < HOOK_EVENTS.length)
    return [
      first,
      `Of these ${HOOK_EVENTS.length} hooks it lists ${trusted.length}; the others could not be trusted. Start it there once, then the same command again.`,
    ]
  const none = (trusted ?? trusted_hooks).length === 0
  return [
    first,
    ...(none
      ? [
          `It also asks whether to trust ${HOOK_EVENTS.length} hooks, by which turnbell learns when a turn begins and ends; they send nothing but that to your own hub.`,
          '`turnbell connect codex … --trust-hooks` says yes for you. Untrusted, they just do not run.',
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
    `No daemon runs for ${persona}, so nobody rings yet. Run:`,
    ...(known ? [] : [`  ${add}`]),
    '  turnbell up                              # while you work',
    `  turnbell service install --hub && turnbell service install --persona ${persona}   # or for good`,
  ].join('\n')
}
