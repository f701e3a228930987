/** `turnbell persona add|list|wrap|remove`: lifecycle, on this machine and at the hub. */
import { type Command, Option } from 'commander'
import { TurnbellError } from '../../contracts/errors.ts'
import { TmuxSettings, Permissions } from '../../contracts/config.ts'
import { SurfaceKind } from '../../contracts/ids.ts'
import { type Cli, invocationOf, parseIdentity } from '../cli.ts'
import { addPersona, type AddOptions } from '../personas/add.ts'
import { collect } from '../personas/command-words.ts'
import { endPersona, endProject } from '../personas/end.ts'
import { listPersonas } from '../personas/list.ts'
import { examples } from '../render.ts'

export function registerPersona(program: Command, cli: Cli): void {
  const persona = program.command('persona').description('personas and their lifecycle')

  const add = persona
    .command('add')
    .description('make a persona on this machine, or bring a wrapped one back')
    .argument('<name>', 'its name', parseIdentity)
    .addOption(
      new Option(
        '--surface <kind>',
        'where its agent can be reached; one that is known keeps its own without it',
      ).choices(SurfaceKind.options),
    )
    .option('--project <dir>', 'the project it works in')
    .option(
      '--command <words>',
      'surface command: the program with its arguments, or one word each time it is given',
      collect,
    )
    .option('--status-file <file>', 'surface command: a file that holds idle or busy')
    .option(
      '--acp <words>',
      'the daemon keeps this agent, which speaks the Agent Client Protocol: its program with arguments',
      collect,
    )
    .option('--headless', 'the daemon keeps a session of the client by itself, without a window')
    .option('--no-headless', 'a person starts it in a window again')
    .addOption(
      new Option(
        '--permissions <answer>',
        'what an agent without a window is answered when it asks leave',
      ).choices(Permissions.options),
    )
    .option('--pane <target>', 'surface tmux: the pane its client runs in, as tmux names it')
    .addOption(
      new Option(
        '--tmux-client <client>',
        'surface tmux: what runs there, where its program does not tell',
      ).choices(TmuxSettings.shape.client.unwrap().options),
    )
    .option('--tmux-socket <file>', 'surface tmux: the socket of the server, where it is not the usual one')
    .addHelpText(
      'after',
      examples([
        ['turnbell persona add ada --surface claude-code --project ~/code/shop', 'a Claude Code session'],
        [`turnbell persona add nightly --surface command --command 'nightly-agent --once'`, 'any program'],
        [
          `turnbell persona add eve --surface opencode --acp 'opencode acp' --project ~/code/shop`,
          'an agent without a window',
        ],
        ['turnbell persona add fay --surface codex --headless', 'the same, of a client that turnbell knows'],
        ['turnbell persona add kim --surface tmux --pane work:0.1', 'a client that runs in a tmux pane'],
      ]),
    )
  add.action((name: string, options: AddOptions) => addPersona(invocationOf(cli, add), name, options))

  const list = persona
    .command('list')
    .description('who exists, what waits for them, who is there')
    .addHelpText('after', examples([['turnbell persona list', 'asks the hub']]))
  list.action(() => listPersonas(invocationOf(cli, list)))

  const wrap = persona
    .command('wrap')
    .description('let a persona rest: stops its daemon; what waits is kept')
    .argument('<name>', 'its name', parseIdentity)
    .addHelpText(
      'after',
      examples([['turnbell persona wrap ada', 'until `persona add ada` brings her back']]),
    )
  wrap.action((name: string) => endPersona(invocationOf(cli, wrap), name, 'wrap'))

  const remove = persona
    .command('remove')
    .description('take a persona away: stops its daemon, forgets its settings')
    .argument('[name]', 'its name', parseIdentity)
    .option('--project <dir>', 'every persona of this project instead')
    .option('--force', 'also where signals wait for it, or a client acts for it')
    .addHelpText(
      'after',
      examples([
        ['turnbell persona remove ada', 'what waited for her is kept at the hub'],
        ['turnbell persona remove --project ~/code/shop', 'the project is over'],
      ]),
    )
  remove.action((name: string | undefined, options: { project?: string; force?: boolean }) => {
    const invocation = invocationOf(cli, remove)
    const { project, force = false } = options
    if (name !== undefined && project === undefined) return endPersona(invocation, name, 'remove', force)
    if (name === undefined && project !== undefined) return endProject(invocation, project, force)
    throw new TurnbellError('usage_invalid', {
      detail: 'Say either which persona or which project.',
      hint: '`turnbell persona remove NAME` or `turnbell persona remove --project DIR`.',
    })
  })
}
