/** The post-commit hook of git: spools a request to archive entries that are older than the previous commit. */
import { LIMITS } from '../../contracts/limits/limits.ts'
import { gitLine } from '../../system/git/git-query.ts'
import { systemPathInspector } from '../../system/files/path-inspector.ts'
import type { Invocation } from '../cli.ts'
import { appendToSpool } from './spool.ts'

export const POST_COMMIT = 'post-commit'

/** Does nothing if the work tree has no memory or the commit has no predecessor. */
export function spoolArchive(invocation: Pick<Invocation, 'cli' | 'home'>): void {
  const { cwd, env } = invocation.cli
  const query = { cwd, env, within_ms: LIMITS.hook_answer_ms / 2 }
  const root = gitLine(query, 'rev-parse', '--show-toplevel')
  if (root === null || root === '' || !systemPathInspector(invocation.home).hasMemory(root)) return
  const seconds = gitLine(query, 'log', '-1', '--format=%ct', 'HEAD~1')
  if (seconds === null || !/^\d{1,11}$/.test(seconds)) return
  const time = Number(seconds) * 1_000
  // A commit from a clock that runs ahead would archive everything.
  if (time > invocation.cli.clock.now()) return
  const before = new Date(time).toISOString()
  appendToSpool(invocation, { type: 'archive', root, trigger: 'commit', before })
}
