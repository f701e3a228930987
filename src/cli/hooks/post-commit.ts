/** What git's own hook leaves after a commit: that everything older than the one before has had its time. */
import { LIMITS } from '../../contracts/limits.ts'
import { gitLine } from '../../system/git-place.ts'
import { systemPlaces } from '../../system/places.ts'
import type { Invocation } from '../cli.ts'
import { leave } from './spool.ts'

export const POST_COMMIT = 'post-commit'

/** Nothing where the work tree has no memory, and for a commit without one before it. */
export function leaveArchive(invocation: Pick<Invocation, 'cli' | 'home'>): void {
  const { cwd, env } = invocation.cli
  const asked = { cwd, env, within_ms: LIMITS.hook_timeout_ms / 2 }
  const root = gitLine(asked, 'rev-parse', '--show-toplevel')
  if (root === null || root === '' || !systemPlaces(invocation.home).holdsMemory(root)) return
  const seconds = gitLine(asked, 'log', '-1', '--format=%ct', 'HEAD~1')
  if (seconds === null || !/^\d{1,11}$/.test(seconds)) return
  const time = Number(seconds) * 1_000
  // By a clock that runs ahead everything would be old.
  if (time > invocation.cli.clock.now()) return
  leave(invocation, { type: 'archive', root, trigger: 'commit', before: new Date(time).toISOString() })
}
