/**
 * What the plugin does in the process it finds itself in. A person's window is rung; the server that the
 * persona's daemon keeps has a shim of its own, and what runs once and ends must not be given work.
 */
import type { Identity } from '../../../src/contracts/ids.ts'

/** `guards`: only keeps subagents from the signals. `none`: works for another persona. */
export type Part = 'rings' | 'guards' | 'none'

export interface Surroundings {
  env: NodeJS.ProcessEnv
  argv: readonly string[]
  /** opencode's window runs the plugin beside itself, its commands where they began. */
  mainThread: boolean
  /** Of the server that the persona's daemon keeps. */
  password: string | undefined
}

/** Commands that stay and have sessions. */
const LASTING = ['serve', 'web']

export function partIn({ env, argv, mainThread, password }: Surroundings, persona: Identity): Part {
  const kept = password !== undefined && env['OPENCODE_SERVER_PASSWORD'] === password
  if (kept) return 'guards'
  // In another persona's server: a project is one persona's, a server may work in many projects.
  const other = env['TURNBELL_PERSONA']
  if (other && other !== persona) return 'none'
  return !mainThread || LASTING.includes(commandIn(argv)) ? 'rings' : 'guards'
}

/** Behind the flags that every command has; of those only one has a value. */
function commandIn(argv: readonly string[]): string {
  const words = argv.slice(2)
  return words.find((word, at) => !word.startsWith('-') && words[at - 1] !== '--log-level') ?? ''
}
