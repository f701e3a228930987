/** The state of a file in git. */
import fs from 'node:fs'
import path from 'node:path'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { gitLine, nearestGit, withoutRepository } from '../../system/git/git-query.ts'
import type { Cli } from '../cli.ts'
import { realFile } from './files.ts'

/** `outside`: in no work tree. `untracked`: the next `git add .` would add it. */
export type Tracking = 'outside' | 'ignored' | 'untracked' | 'tracked'

export function trackingOf({ env }: Pick<Cli, 'env'>, named: string): Tracking {
  const file = realFile(named)
  let cwd = path.dirname(file)
  while (!fs.existsSync(cwd)) cwd = path.dirname(cwd)
  // This recognizes most directories outside a work tree without starting git.
  if (nearestGit(cwd) === null) return 'outside'
  const git = (...args: string[]) =>
    gitLine({ cwd, env: withoutRepository(env), within_ms: LIMITS.hook_timeout_ms }, ...args)
  if (git('rev-parse', '--is-inside-work-tree') !== 'true') return 'outside'
  if (git('ls-files', '--error-unmatch', '--', file) !== null) return 'tracked'
  return git('check-ignore', '-q', '--', file) === null ? 'untracked' : 'ignored'
}
