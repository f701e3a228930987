/** The outside world of a command, from this process. */
import path from 'node:path'
import pc from 'picocolors'
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { StoreFault } from '../contracts/errors/store-fault.ts'
import { createIds, systemRandom } from '../system/random.ts'
import { systemClock } from '../system/clock.ts'
import { nodeProgram } from '../system/process/node-program.ts'
import { loadBundle, type Bundle } from '../system/process/bundles.ts'
import { TERMINATION_SIGNALS } from '../system/process/termination-signals.ts'
import type { Cli } from './cli.ts'
import { administratorFolder } from './connect/hook-policy.ts'
import { createOutput } from './output.ts'
import { runProgram } from './run-program.ts'

/** Only the hub's bundle can read a store. */
interface HubBundle extends Bundle {
  inspectStore(directory: string): StoreFault[]
}

/** `dist` is the folder of the bundle that runs. */
export function processCli(env: NodeJS.ProcessEnv, dist: string): Cli {
  const { stdin, stdout, stderr } = process
  // Without a listener, a reader that goes away (`turnbell status | head -1`) would end this process with a stack trace.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})
  const colors = pc.createColors(pc.isColorSupported && stdout.isTTY === true)
  const ids = createIds(systemClock, systemRandom)
  return {
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
    program: path.join(dist, 'turnbell.cjs'),
    templates: path.join(dist, '..', 'service-templates'),
    administratorFolder: (client) => administratorFolder(process.platform, client),
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
      await (await loadBundle(dist, name)).main(args)
    },
    inspectStore: async (directory) => (await loadBundle<HubBundle>(dist, 'hub')).inspectStore(directory),
  }
}

/** Read only where it is needed: a directory that was removed, as a git worktree may be, has no name anymore. */
function workingDirectory(): string {
  try {
    return process.cwd()
  } catch (cause) {
    throw new TurnbellError('usage_invalid', {
      detail: 'The working directory no longer exists.',
      hint: 'Change to an existing directory, then try again.',
      cause,
    })
  }
}
