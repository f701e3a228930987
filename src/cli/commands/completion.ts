/**
 * `turnbell completion`: prints a completion script for a shell, generated from the declared commands.
 */
import { Argument, type Command } from 'commander'
import { type Cli, invocationOf } from '../cli.ts'
import { completionScript, SHELLS, type CompletionPlace, type Shell } from '../completion-scripts.ts'
import { examples } from '../render.ts'

export function registerCompletion(program: Command, cli: Cli): void {
  const command = program
    .command('completion')
    .description('print a completion script for your shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText(
      'after',
      examples([
        ['source <(turnbell completion bash)', 'in ~/.bashrc; the same with zsh in ~/.zshrc'],
        ['turnbell completion fish | source', 'in ~/.config/fish/config.fish'],
      ]),
    )
  command.action(async (shell: Shell) => {
    const script = completionScript(shell, completionPlaces(program))
    await invocationOf(cli, command).out.result({ shell, script }, () => script.trimEnd())
  })
}

export function completionPlaces(program: Command): CompletionPlace[] {
  const below = (command: Command, path: readonly string[]): CompletionPlace[] => [
    placeOf(program, command, path),
    ...command.commands.flatMap((child) => below(child, [...path, child.name()])),
  ]
  return below(program, [])
}

function placeOf(program: Command, command: Command, path: readonly string[]): CompletionPlace {
  const everywhere = program.options.filter(({ long }) => long !== '--version' || command === program)
  const options = [...new Set([...command.options, ...everywhere])].filter(({ hidden }) => !hidden)
  const named = options.flatMap(({ long, required, optional, argChoices = [] }) =>
    long == null ? [] : [{ long, takes: required || optional, argChoices }],
  )
  return {
    path: path.join(' '),
    words: [
      ...command.commands.map((child) => child.name()),
      ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
      ...named.map(({ long }) => long),
      '--help',
    ],
    values: Object.fromEntries(
      named.filter(({ takes }) => takes).map(({ long, argChoices }) => [long, argChoices]),
    ),
  }
}
