/** The command line: argv in, exit code out. Reads the outside world once and hands it on. */
import path from 'node:path'
import pc from 'picocolors'
import { TurnbellError } from '../contracts/errors.ts'
import { createIds, systemRandom } from '../system/random.ts'
import { systemClock } from '../system/clock.ts'
import { nodeProgram } from '../system/node-program.ts'
import { loadBundle } from '../system/bundles.ts'
import type { Cli } from './cli.ts'
import { createOutput } from './output.ts'
import { runCli } from './program.ts'
import { runProgram } from './run-program.ts'
import { TERMINATION_SIGNALS } from '../system/termination.ts'

export async function main(argv: string[]): Promise<void> {
  const { env, stdin, stdout, stderr } = process
  // Without a listener a reader that goes away (`turnbell status | head -1`) would end us with a stack.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})
  const here = import.meta.dirname
  const colors = pc.createColors(pc.isColorSupported && stdout.isTTY === true)
  const ids = createIds(systemClock, systemRandom)
  const cli: Cli = {
    env,
    get cwd() {
      return workingDirectory()
    },
    platform: process.platform,
    stdin,
    stdout,
    stderr,
    colors,
    clock: systemClock,
    random: systemRandom,
    ids,
    fetch,
    node: nodeProgram(env),
    program: path.join(here, 'turnbell.cjs'),
    templates: path.join(here, '..', 'service-templates'),
    runProgram,
    output: (json) => createOutput({ stdout, stderr, colors, ids }, json),
    exitWith: (code) => void (process.exitCode = code),
    onTermination(call) {
      for (const os_signal of TERMINATION_SIGNALS) process.on(os_signal, call)
      return () => {
        for (const os_signal of TERMINATION_SIGNALS) process.off(os_signal, call)
      }
    },
    async startBundle(name, args) {
      await (await loadBundle(here, name)).main(args)
    },
  }
  const code = await runCli(cli, argv)
  if (code !== 0) process.exitCode = code
}

/** Asked for only where it is needed: one that was removed under us, as a git worktree is, has no name any more. */
function workingDirectory(): string {
  try {
    return process.cwd()
  } catch (cause) {
    throw new TurnbellError('usage_invalid', {
      detail: 'The directory in which this was started is gone.',
      hint: 'Go into one that is there, then try again.',
      cause,
    })
  }
}
