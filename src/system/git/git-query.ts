/**
 * Location and last commits of a repository, for a command started by a person or by git.
 *
 * In a hook, git's environment variables identify the repository. Elsewhere they are leftovers, and the directory
 * identifies it.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

export interface GitQuery {
  cwd: string
  env: NodeJS.ProcessEnv
  /** Timeout. */
  within_ms: number
}

/** Returns the output without the last line feed, or null if git fails: no repository, no such commit, no git. */
export function gitLine({ cwd, env, within_ms }: GitQuery, ...args: string[]): string | null {
  const { status, stdout } = spawnSync('git', ['-c', 'log.showSignature=false', ...args], {
    cwd,
    env,
    timeout: within_ms,
    killSignal: 'SIGKILL',
    encoding: 'utf8',
    windowsHide: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return status === 0 ? stdout.replace(/\r?\n$/, '') : null
}

/** Returns the nearest directory with a `.git`: this one or an ancestor. Null if there is none. Does not run git. */
export function nearestGit(directory: string): string | null {
  for (let at = directory; ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, '.git'))) return at
    if (path.dirname(at) === at) return null
  }
}

/** Variables about the machine's and the user's configuration, which are kept. */
const SETTINGS = /^GIT_(CONFIG|CEILING|DISCOVERY|EXEC|TRACE)/

/** Removes the variables that select a repository. */
export function withoutRepository(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith('GIT_') || SETTINGS.test(name)),
  )
}
