/**
 * Chooses the plugin's role in its process. A person's window is rung. The server kept by the persona's daemon has its
 * own shim, and a command that runs once must not be given work.
 */
import type { Identity } from '../../../src/contracts/ids.ts'

/** `guards`: only prevents subagents from draining. `none`: the process belongs to another persona. */
export type PluginRole = 'rings' | 'guards' | 'none'

export interface ProcessFacts {
  env: NodeJS.ProcessEnv
  argv: readonly string[]
  /** opencode's window runs the plugin in a worker thread, its commands in the main thread. */
  mainThread: boolean
  /** Password of the server that the persona's daemon keeps. */
  password: string | undefined
}

/** Commands that keep running and have sessions. */
const SERVER_COMMANDS = ['serve', 'web']

export function pluginRole({ env, argv, mainThread, password }: ProcessFacts, persona: Identity): PluginRole {
  const kept = password !== undefined && env['OPENCODE_SERVER_PASSWORD'] === password
  if (kept) return 'guards'
  // Another persona's server: a project belongs to one persona, but a server may serve several projects.
  const other = env['TURNBELL_PERSONA']
  if (other && other !== persona) return 'none'
  return !mainThread || SERVER_COMMANDS.includes(commandIn(argv)) ? 'rings' : 'guards'
}

/** Returns the command after the global flags, of which only `--log-level` has a value. */
function commandIn(argv: readonly string[]): string {
  const words = argv.slice(2)
  return words.find((word, at) => !word.startsWith('-') && words[at - 1] !== '--log-level') ?? ''
}
