/** Dependencies of the git module. */
import type { CommitLink } from '../../contracts/git.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Clock } from '../../ports/clock.ts'
import type { GitRunner } from '../../ports/git.ts'

/** The caller and the scope of the call. The context of a handler is one. */
export interface Asking {
  caller: Caller
  context: { agent_id: string; scope: string | null }
}

/** The links of one project. */
export interface CommitLinks {
  /** Idempotent: there is one link for each commit and issue. */
  add(link: CommitLink): Promise<'added' | 'already'>
  /** Newest first. */
  list(filter: { issue?: string; sha?: string }): Promise<CommitLink[]>
}

export interface GitDeps {
  git: GitRunner
  /** Returns the directory of the call's repository. Throws `repository_unknown` or `project_unknown`. */
  rootOf(asking: Asking): string
  linksOf(asking: Asking): CommitLinks | Promise<CommitLinks>
  clock: Pick<Clock, 'now'>
}
