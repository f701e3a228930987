/** The program: every command in the order in which `--help` shows them, and what an error becomes. */
import { Command, CommanderError } from 'commander'
import { TurnbellError } from '../contracts/errors.ts'
import { EXIT, exitCodeOf } from '../contracts/exit-codes.ts'
import { nearest } from '../contracts/names.ts'
import { withPersonaOption } from '../system/persona-option.ts'
import { diskRefusal } from '../system/problem-output.ts'
import { VERSION } from '../system/version.ts'
import type { Cli } from './cli.ts'
import { examples } from './render.ts'
import { registerCall } from './commands/call.ts'
import { registerCancel } from './commands/cancel.ts'
import { registerCompletion } from './commands/completion.ts'
import { registerConnect } from './commands/connect.ts'
import { registerControl } from './commands/control.ts'
import { registerDemo } from './commands/demo.ts'
import { registerDoctor } from './commands/doctor.ts'
import { registerDown } from './commands/down.ts'
import { registerPaths } from './commands/paths.ts'
import { registerPending } from './commands/pending.ts'
import { registerPersona } from './commands/persona.ts'
import { registerBundles } from './commands/bundles.ts'
import { registerHook } from './commands/hook.ts'
import { registerImport } from './commands/import.ts'
import { registerInbox } from './commands/inbox.ts'
import { registerLog } from './commands/log.ts'
import { registerRun } from './commands/run.ts'
import { registerSend } from './commands/send.ts'
import { registerService } from './commands/service.ts'
import { registerStatus } from './commands/status.ts'
import { registerToken } from './commands/token.ts'
import { registerUninstall } from './commands/uninstall.ts'
import { registerUp } from './commands/up.ts'

const VERSION_ASKED = 'turnbell.version'

export function createProgram(cli: Cli): Command {
  const program = new Command('turnbell')
    .description(
      'Durable signals for teams of coding agents: nothing lost, nothing repeated, and never an interruption in the middle of a turn.',
    )
    .option('-V, --version', 'print the version')
    // commander's own would print it at once, before it has seen a --json that stands behind it.
    .on('option:version', () => {
      throw new CommanderError(EXIT.done, VERSION_ASKED, VERSION)
    })
    .option('--home <dir>', 'where everything of this user lives (TURNBELL_HOME, ~/.turnbell)')
    .option('--json', 'one JSON document on stdout; errors too')
    .helpOption('-h, --help', 'show what a command takes, with examples')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    // Refusals are printed in one place and one form, so commander itself stays silent about them.
    .configureOutput({ writeOut: (text) => void cli.stdout.write(text), writeErr: () => {} })
    .exitOverride()
  registerUp(program, cli)
  registerDown(program, cli)
  registerDemo(program, cli)
  registerBundles(program, cli)
  registerStatus(program, cli)
  registerControl(program, cli)
  registerPersona(program, cli)
  registerSend(program, cli)
  registerPending(program, cli)
  registerInbox(program, cli)
  registerCancel(program, cli)
  registerLog(program, cli)
  registerCall(program, cli)
  registerImport(program, cli)
  registerRun(program, cli)
  registerConnect(program, cli)
  registerHook(program, cli)
  registerService(program, cli)
  registerUninstall(program, cli)
  registerToken(program, cli)
  registerPaths(program, cli)
  registerDoctor(program, cli)
  registerCompletion(program, cli)
  registerHelp(program)
  return program
}

function registerHelp(program: Command): void {
  program
    .command('help')
    .description('what turnbell or one of its commands takes, with examples')
    .argument('[command...]', 'the command')
    .addHelpText(
      'after',
      examples([['turnbell help persona add', 'the same as turnbell persona add --help']]),
    )
}

/**
 * The command line as commander is given it: `help send` is `send --help`, and `--identity` is `--persona` for a
 * command that takes a persona.
 *
 * @throws `usage_invalid` for help about an unknown command
 */
function spelledOut(program: Command, argv: readonly string[]): string[] {
  const asked = argv.indexOf('help')
  if (asked !== -1 && commandIn(program, argv.slice(0, asked + 1)).name() === 'help') {
    const words = argv.slice(asked + 1).filter((word) => !word.startsWith('-'))
    const about_itself = words.length === 0 && argv.some((word) => word === '--help' || word === '-h')
    if (about_itself) return [...argv]
    needCommand(program, words[0])
    return [...argv.slice(0, asked), ...words, '--help']
  }
  const takesPersona = commandIn(program, argv).options.some(({ long }) => long === '--persona')
  return takesPersona ? withPersonaOption(argv) : [...argv]
}

/** The innermost command that the words name, with the program's own options between them. */
function commandIn(program: Command, argv: readonly string[]): Command {
  let found = program
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] as string
    if (word === '--') break
    if (word === '--home') at += 1
    else if (!word.startsWith('-')) {
      const next = found.commands.find((command) => command.name() === word)
      if (next === undefined) break
      found = next
    }
  }
  return found
}

function needCommand(program: Command, word: string | undefined): void {
  const names = program.commands.map((command) => command.name())
  if (word === undefined || names.includes(word)) return
  const meant = nearest(word, names)
  throw new TurnbellError('usage_invalid', {
    detail: `unknown command '${word}'`,
    hint: meant === null ? '`turnbell help` lists the commands.' : `Did you mean ${meant}?`,
  })
}

/** Runs one command line to its end. Never throws: what went wrong is printed and told by the exit code. */
export async function runCli(cli: Cli, argv: readonly string[]): Promise<number> {
  const program = createProgram(cli)
  if (argv.length === 0) {
    cli.stdout.write(program.helpInformation())
    return EXIT.done
  }
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const output = cli.output(own.includes('--json'))
  try {
    await program.parseAsync(spelledOut(program, argv), { from: 'user' }).catch(async (thrown: unknown) => {
      if (!(thrown instanceof CommanderError && thrown.code === VERSION_ASKED)) throw thrown
      await output.result({ version: VERSION }, () => VERSION)
    })
    return EXIT.done
  } catch (thrown) {
    // The reader of stdout is gone: there is nobody left to tell.
    if ((thrown as NodeJS.ErrnoException).code === 'EPIPE') return EXIT.failed
    const error =
      thrown instanceof CommanderError ? usageErrorOf(thrown, commandIn(program, own)) : diskRefusal(thrown)
    if (error === null) return EXIT.done
    // A stdout that takes nothing any more leaves the exit code to tell of it.
    await output.problem(error).catch(() => {})
    return exitCodeOf(error)
  }
}

/** Null where commander only leaves early because help or the version was asked for. */
function usageErrorOf(error: CommanderError, command: Command): TurnbellError | null {
  if (error.exitCode === 0) return null
  const help = `See \`${wordsOf(command)} --help\`.`
  if (error.code === 'commander.help') {
    const names = command.commands.map((one) => one.name()).join(', ')
    return new TurnbellError('usage_invalid', {
      detail: `'${wordsOf(command)}' is not complete: it takes one of ${names}`,
      hint: help,
      cause: error,
    })
  }
  const [first = '', ...more] = error.message.replace(/^error: /, '').split('\n')
  const suggestion = more.join(' ').replace(/^\(|\)$/g, '')
  return new TurnbellError('usage_invalid', {
    detail: first,
    hint: suggestion === '' ? (begunOption(error, first, command) ?? nearChoice(first) ?? help) : suggestion,
    cause: error,
  })
}

/** An option that was cut short is too far from the whole one for commander's own suggestion. */
function begunOption({ code }: CommanderError, said: string, command: Command): string | null {
  const begun = /'--(\w[\w-]*)/.exec(said)?.[1]
  if (code !== 'commander.unknownOption' || begun === undefined) return null
  const long = command.options.find((option) => option.long?.startsWith(`--${begun}`) === true)?.long
  return long === undefined ? null : `Did you mean ${long}?`
}

/** commander names the choices of an argument or option, and suggests none of them. */
function nearChoice(said: string): string | null {
  const [, given, choices] = /'([^']*)' is invalid.* Allowed choices are (.*)\.$/.exec(said) ?? []
  if (given === undefined || choices === undefined) return null
  const meant = nearest(given, choices.split(', '))
  return meant === null ? null : `Did you mean ${meant}?`
}

/** `turnbell persona add` */
function wordsOf(command: Command): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`
}
