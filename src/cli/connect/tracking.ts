/** Whether git tracks a file that turnbell writes. */
import fs from 'node:fs'
import path from 'node:path'
import { LIMITS } from '../../contracts/limits.ts'
import { gitLine, withoutRepository } from '../../system/git-place.ts'
import type { Cli } from '../cli.ts'
import { realFile } from './files.ts'

/** `outside` of every work tree; `untracked` is what the next `git add .` would take. */
export type Tracking = 'outside' | 'ignored' | 'untracked' | 'tracked'

export function trackingOf({ env }: Pick<Cli, 'env'>, named: string): Tracking {
  const file = realFile(named)
  let cwd = path.dirname(file)
  while (!fs.existsSync(cwd)) cwd = path.dirname(cwd)
  if (!isBelowGit(cwd)) return 'outside'
  const git = (...args: string[]) =>
    gitLine({ cwd, env: withoutRepository(env), within_ms: LIMITS.hook_timeout_ms }, ...args)
  if (git('rev-parse', '--is-inside-work-tree') !== 'true') return 'outside'
  if (git('ls-files', '--error-unmatch', '--', file) !== null) return 'tracked'
  return git('check-ignore', '-q', '--', file) === null ? 'untracked' : 'ignored'
}

/** Most directories that are in no work tree are told apart without starting git. */
function isBelowGit(directory: string): boolean {
  for (let at = directory; ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, '.git'))) return true
    if (path.dirname(at) === at) return false
  }
}
