/**
 * Where a repository is and what its last commits are, for a command that a person or git itself has started.
 *
 * In a hook git says by its own variables which repository it means, and they are right there. Elsewhere they are
 * left over from somebody else, and a directory was named.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

export interface GitAsked {
  cwd: string
  env: NodeJS.ProcessEnv
  /** A git that takes longer is given up. */
  within_ms: number
}

/** What it printed, without the last line feed; null where it has no answer: no repository, no such commit, no git. */
export function gitLine({ cwd, env, within_ms }: GitAsked, ...args: string[]): string | null {
  const { status, stdout } = spawnSync('git', ['-c', 'log.showSignature=false', ...args], {
    ...{ cwd, env, timeout: within_ms, killSignal: 'SIGKILL', encoding: 'utf8', windowsHide: true },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return status === 0 ? stdout.replace(/\r?\n$/, '') : null
}

/** Nearest directory with a `.git`: this one or an ancestor. Null if there is none. Does not run git. */
export function nearestGit(directory: string): string | null {
  for (let at = directory; ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, '.git'))) return at
    if (path.dirname(at) === at) return null
  }
}

/** Of the machine's and the person's settings git learns in any case. */
const SETTINGS = /^GIT_(CONFIG|CEILING|DISCOVERY|EXEC|TRACE)/

/** Only the directory says which repository is meant. */
export function withoutRepository(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith('GIT_') || SETTINGS.test(name)),
  )
}
