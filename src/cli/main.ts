/** The command line: argv in, exit code out. Reads the environment once. */
import { processCli } from './process-cli.ts'
import { runCli } from './program.ts'

export async function main(argv: string[]): Promise<void> {
  const code = await runCli(processCli(process.env, import.meta.dirname), argv)
  if (code !== 0) process.exitCode = code
}
