/** The program: every command, in the order of `--help`. */
import type { Command } from 'commander'
import type { Cli } from './cli.ts'
import { createBareProgram, runCommandLine } from './command-line.ts'
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

export function createProgram(cli: Cli): Command {
  const program = createBareProgram(cli)
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

export const runCli = (cli: Cli, argv: readonly string[]): Promise<number> =>
  runCommandLine(cli, createProgram(cli), argv)

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
