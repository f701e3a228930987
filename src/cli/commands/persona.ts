/** `turnbell persona add|list|wrap|remove`: the lifecycle of a persona on this machine and at the hub. */
import { type Command, Option } from 'commander'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { TmuxSettings, Permissions } from '../../contracts/config.ts'
import { SurfaceKind } from '../../contracts/ids.ts'
import { type Cli, invocationOf, parseIdentity } from '../cli.ts'
import { addPersona, type AddOptions } from '../personas/add.ts'
import { collect } from '../personas/command-words.ts'
import { endPersona, endProject } from '../personas/end.ts'
import { listPersonas } from '../personas/list-view.ts'
import { examples } from '../render.ts'

export function registerPersona(program: Command, cli: Cli): void {
  const persona = program.command('persona').description('personas and their lifecycle')
  registerAdd(persona, cli)
  registerList(persona, cli)
  registerWrap(persona, cli)
  registerRemove(persona, cli)
}

function registerAdd(persona: Command, cli: Cli): void {
  const add = persona
    .command('add')
    .description('add a persona on this machine, change one, or reactivate a wrapped one')
    .argument('<name>', 'its name', parseIdentity)
    .addOption(
      new Option(
        '--surface <kind>',
        'where its agent can be reached (an existing persona keeps its surface)',
      ).choices(SurfaceKind.options),
    )
    .option('--project <dir>', 'the project it works in')
    .option(
      '--command <words>',
      'surface command: the program with its arguments; repeat the option to give one word each',
      collect,
    )
    .option('--status-file <file>', 'surface command: a file that contains idle or busy')
    .option(
      '--acp <words>',
      'program with arguments of an agent that speaks the Agent Client Protocol; the daemon runs it',
      collect,
    )
    .option('--headless', 'the daemon runs a session of the client without a window')
    .option('--no-headless', 'the client is started in a window again')
    .addOption(
      new Option(
        '--permissions <answer>',
        'the answer to permission requests of an agent without a window',
      ).choices(Permissions.options),
    )
    .option('--pane <target>', 'surface tmux: the pane of the client, as tmux names it')
    .addOption(
      new Option(
        '--tmux-client <client>',
        'surface tmux: the client in the pane, if its program name does not tell',
      ).choices(TmuxSettings.shape.client.unwrap().options),
    )
    .option('--tmux-socket <file>', 'surface tmux: the socket of the server, if it is not the default one')
    .addHelpText(
      'after',
      examples([
        ['turnbell persona add ada --surface claude-code --project ~/code/shop', 'a Claude Code session'],
        [`turnbell persona add nightly --surface command --command 'nightly-agent --once'`, 'any program'],
        [
          `turnbell persona add eve --surface opencode --acp 'opencode acp' --project ~/code/shop`,
          'an agent without a window',
        ],
        ['turnbell persona add fay --surface codex --headless', 'a Codex session without a window'],
        ['turnbell persona add kim --surface tmux --pane work:0.1', 'a client in a tmux pane'],
      ]),
    )
  add.action((name: string, options: AddOptions) => addPersona(invocationOf(cli, add), name, options))
}

function registerList(persona: Command, cli: Cli): void {
  const list = persona
    .command('list')
    .description('list personas with their pending signals and connections')
    .addHelpText('after', examples([['turnbell persona list', 'as the hub knows them']]))
  list.action(() => listPersonas(invocationOf(cli, list)))
}

function registerWrap(persona: Command, cli: Cli): void {
  const wrap = persona
    .command('wrap')
    .description('retire a persona: stops its daemon and refuses new signals; pending signals are kept')
    .argument('<name>', 'its name', parseIdentity)
    .addHelpText(
      'after',
      examples([['turnbell persona wrap ada', 'retires ada until `turnbell persona add ada`']]),
    )
  wrap.action((name: string) => endPersona(invocationOf(cli, wrap), name, 'wrap'))
}

function registerRemove(persona: Command, cli: Cli): void {
  const remove = persona
    .command('remove')
    .description('remove a persona: stops its daemon and deletes its settings')
    .argument('[name]', 'its name', parseIdentity)
    .option('--project <dir>', 'every persona of this project instead')
    .option('--force', 'remove it although signals are pending for it or a client acts for it')
    .addHelpText(
      'after',
      examples([
        ['turnbell persona remove ada', 'her pending signals are kept at the hub'],
        ['turnbell persona remove --project ~/code/shop', 'all personas of a project'],
      ]),
    )
  remove.action((name: string | undefined, options: { project?: string; force?: boolean }) => {
    const invocation = invocationOf(cli, remove)
    const { project, force = false } = options
    if (name !== undefined && project === undefined) return endPersona(invocation, name, 'remove', force)
    if (name === undefined && project !== undefined) return endProject(invocation, project, force)
    throw new TurnbellError('usage_invalid', {
      detail: 'Exactly one of a persona and --project is required.',
      hint: 'Use `turnbell persona remove NAME` or `turnbell persona remove --project DIR`.',
    })
  })
}
