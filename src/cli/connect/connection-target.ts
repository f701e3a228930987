/** The target of a connection: a persona, a project, and the command that starts turnbell. */
import path from 'node:path'
import type { Invocation } from '../cli.ts'
import { BY_NAME, commandsOnPath, startWords } from '../start-words.ts'
import { trackingOf, type Tracking } from './tracking.ts'

/** The command that starts turnbell, for each written file, depending on its state in git. */
export interface Callers {
  tracking: (file: string) => Tracking
  caller: (file: string) => Caller
}

export interface Caller {
  words: readonly [string, ...string[]]
  /** `--home` with the home; empty if the home is found without it. */
  home: readonly string[]
  /** Contains no path of this machine, because other machines may check the file out. */
  portable: boolean
}

export interface ConnectionTarget extends Callers {
  persona: string
  /** Absolute path without links. */
  project: string
  home: string
  /** Node by a name that outlives an upgrade. */
  node: string
  platform: NodeJS.Platform
  /** Returns the folder of the client's adapter, next to the program. */
  adapter: (client: string) => string
}

export function targetOf(invocation: Invocation, persona: string, project: string): ConnectionTarget {
  const { cli, home } = invocation
  return {
    persona,
    project,
    home: home.root,
    node: cli.node,
    platform: cli.platform,
    adapter: (client) => path.join(path.dirname(cli.program), 'adapters', client),
    ...callersOf(invocation),
  }
}

export function callersOf({ cli, home }: Pick<Invocation, 'cli' | 'home'>): Callers {
  const known = new Map<string, Tracking>()
  const tracking = (file: string) => {
    const state = known.get(file) ?? trackingOf(cli, file)
    known.set(file, state)
    return state
  }
  return {
    tracking,
    caller(file) {
      const state = tracking(file)
      // An untracked file may be added to git later, so it is portable too if `turnbell` is on PATH.
      if (state === 'tracked' || (state === 'untracked' && commandsOnPath(cli).length > 0))
        return { words: BY_NAME, home: [], portable: true }
      return { words: startWords(cli), home: ['--home', home.root], portable: false }
    },
  }
}

/** Returns the command of the persona's MCP server for this file. */
export function bridgeWords({ caller, persona }: ConnectionTarget, file: string, client: string): string[] {
  const { words, home } = caller(file)
  return [...words, 'mcp', '--client', client, '--persona', persona, ...home]
}
