/** Runs one command line of a program, and turns what it throws into a printed problem and an exit code. */
import { Command, CommanderError } from 'commander'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { EXIT, exitCodeOf } from '../contracts/errors/exit-codes.ts'
import { nearest } from '../contracts/text/names.ts'
import { withPersonaOption } from '../system/clients/persona-option.ts'
import { diskError } from '../system/process/problem-output.ts'
import { VERSION } from '../system/version.ts'
import type { Cli } from './cli.ts'

const VERSION_REQUESTED = 'turnbell.version'

/** The program without commands. */
export function createBareProgram(cli: Cli): Command {
  return (
    new Command('turnbell')
      .description(
        'Durable signals for teams of coding agents: nothing lost, nothing repeated, and never an interruption in the middle of a turn.',
      )
      .option('-V, --version', 'print the version')
      // commander's own option would print it at once, before a --json after it is parsed.
      .on('option:version', () => {
        throw new CommanderError(EXIT.done, VERSION_REQUESTED, VERSION)
      })
      .option('--home <dir>', 'where everything of this user is stored (TURNBELL_HOME, ~/.turnbell)')
      .option('--json', 'one JSON document on stdout; errors too')
      .helpOption('-h, --help', 'show what a command takes, with examples')
      .helpCommand(false)
      .configureHelp({ showGlobalOptions: true })
      // Because refusals are printed in one place and one form, commander itself prints none.
      .configureOutput({ writeOut: (text) => void cli.stdout.write(text), writeErr: () => {} })
      .exitOverride()
  )
}

/**
 * Rewrites `help send` to `send --help`, and `--identity` to `--persona` for a command that takes a persona. Throws
 * `usage_invalid` for help about an unknown command.
 */
function normalizeArguments(program: Command, argv: readonly string[]): string[] {
  const help_at = argv.indexOf('help')
  if (help_at !== -1 && commandIn(program, argv.slice(0, help_at + 1)).name() === 'help') {
    const words = argv.slice(help_at + 1).filter((word) => !word.startsWith('-'))
    const about_itself = words.length === 0 && argv.some((word) => word === '--help' || word === '-h')
    if (about_itself) return [...argv]
    requireCommand(program, words[0])
    return [...argv.slice(0, help_at), ...words, '--help']
  }
  const takesPersona = commandIn(program, argv).options.some(({ long }) => long === '--persona')
  return takesPersona ? withPersonaOption(argv) : [...argv]
}

/** Returns the innermost command that the words name. The program's own options may be between them. */
function commandIn(program: Command, argv: readonly string[]): Command {
  let innermost = program
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] as string
    if (word === '--') break
    if (word === '--home') at += 1
    else if (!word.startsWith('-')) {
      const next = innermost.commands.find((command) => command.name() === word)
      if (next === undefined) break
      innermost = next
    }
  }
  return innermost
}

function requireCommand(program: Command, word: string | undefined): void {
  const names = program.commands.map((command) => command.name())
  if (word === undefined || names.includes(word)) return
  const meant = nearest(word, names)
  throw new TurnbellError('usage_invalid', {
    detail: `unknown command '${word}'`,
    hint: meant === null ? '`turnbell help` lists the commands.' : `Did you mean ${meant}?`,
  })
}

/** Runs a command line to its end. Never throws: an error is printed and becomes the exit code. */
export async function runCommandLine(cli: Cli, program: Command, argv: readonly string[]): Promise<number> {
  if (argv.length === 0) {
    cli.stdout.write(program.helpInformation())
    return EXIT.done
  }
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const output = cli.output(own.includes('--json'))
  try {
    await program
      .parseAsync(normalizeArguments(program, argv), { from: 'user' })
      .catch(async (thrown: unknown) => {
        if (!(thrown instanceof CommanderError && thrown.code === VERSION_REQUESTED)) throw thrown
        await output.result({ version: VERSION }, () => VERSION)
      })
    return EXIT.done
  } catch (thrown) {
    // The reader of stdout is gone.
    if ((thrown as NodeJS.ErrnoException).code === 'EPIPE') return EXIT.failed
    const error =
      thrown instanceof CommanderError ? usageErrorOf(thrown, commandIn(program, own)) : diskError(thrown)
    if (error === null) return EXIT.done
    // If stdout accepts nothing, only the exit code reports the error.
    await output.problem(error).catch(() => {})
    return exitCodeOf(error)
  }
}

/** Returns null if commander only stopped after printing help or the version. */
function usageErrorOf(error: CommanderError, command: Command): TurnbellError | null {
  if (error.exitCode === 0) return null
  const help = `See \`${wordsOf(command)} --help\`.`
  if (error.code === 'commander.help') {
    const names = command.commands.map((one) => one.name()).join(', ')
    return new TurnbellError('usage_invalid', {
      detail: `'${wordsOf(command)}' is incomplete: add one of ${names}`,
      hint: help,
      cause: error,
    })
  }
  const [first = '', ...more] = error.message.replace(/^error: /, '').split('\n')
  const suggestion = more.join(' ').replace(/^\(|\)$/g, '')
  return new TurnbellError('usage_invalid', {
    detail: first,
    hint:
      suggestion === '' ? (completedOption(error, first, command) ?? nearChoice(first) ?? help) : suggestion,
    cause: error,
  })
}

/** Suggests the option that begins with the given word. Commander suggests only words of a similar length. */
function completedOption({ code }: CommanderError, message: string, command: Command): string | null {
  const prefix = /'--(\w[\w-]*)/.exec(message)?.[1]
  if (code !== 'commander.unknownOption' || prefix === undefined) return null
  const long = command.options.find((option) => option.long?.startsWith(`--${prefix}`) === true)?.long
  return long === undefined ? null : `Did you mean ${long}?`
}

/** Suggests a choice of an argument or option, because commander only lists them. */
function nearChoice(message: string): string | null {
  const [, given, choices] = /'([^']*)' is invalid.* Allowed choices are (.*)\.$/.exec(message) ?? []
  if (given === undefined || choices === undefined) return null
  const meant = nearest(given, choices.split(', '))
  return meant === null ? null : `Did you mean ${meant}?`
}

/** Returns the full command, such as `turnbell persona add`. */
function wordsOf(command: Command): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`
}
