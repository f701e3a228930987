/**
 * `turnbell hook` as a program of its own. Because clients wait for their hooks, this bundle holds one command instead
 * of all of them.
 */
import type { Cli } from '../cli.ts'
import { createBareProgram, runCommandLine } from '../command-line.ts'
import { registerHook } from '../commands/hook.ts'
import { processCli } from '../process-cli.ts'

export async function main(argv: string[]): Promise<void> {
  const code = await runHook(processCli(process.env, import.meta.dirname), argv)
  if (code !== 0) process.exitCode = code
}

export function runHook(cli: Cli, argv: readonly string[]): Promise<number> {
  const program = createBareProgram(cli)
  registerHook(program, cli)
  return runCommandLine(cli, program, ['hook', ...argv])
}
