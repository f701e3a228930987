/** Whom a connection joins: a persona, a project, and turnbell as it is started from what is written. */
import path from 'node:path'
import type { Invocation } from '../cli.ts'
import { BY_NAME, commandsOnPath, startWords } from '../start-words.ts'
import { trackingOf, type Tracking } from './tracking.ts'

/** How turnbell is called from the files that are written, each as git treats it. */
export interface Callers {
  tracking: (file: string) => Tracking
  caller: (file: string) => Caller
}

export interface Caller {
  words: readonly [string, ...string[]]
  /** `--home` with the home; nothing where it is found without. */
  home: readonly string[]
  /** Names no place of this machine: others may check the file out. */
  portable: boolean
}

export interface Place extends Callers {
  persona: string
  /** Absolute, without links. */
  project: string
  home: string
  /** The lasting name of Node. */
  node: string
  platform: NodeJS.Platform
  /** The folder of the client's adapter beside the program. */
  adapter: (client: string) => string
}

export function placeOf(invocation: Invocation, persona: string, project: string): Place {
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
    const found = known.get(file) ?? trackingOf(cli, file)
    known.set(file, found)
    return found
  }
  return {
    tracking,
    caller(file) {
      const state = tracking(file)
      // One that git would take at the next `add` is written as if it had, wherever that works here.
      if (state === 'tracked' || (state === 'untracked' && commandsOnPath(cli).length > 0))
        return { words: BY_NAME, home: [], portable: true }
      return { words: startWords(cli), home: ['--home', home.root], portable: false }
    },
  }
}

/** The MCP server of the persona, as a client starts it from this file. */
export function bridgeWords({ caller, persona }: Place, file: string, client: string): string[] {
  const { words, home } = caller(file)
  return [...words, 'mcp', '--client', client, '--persona', persona, ...home]
}
