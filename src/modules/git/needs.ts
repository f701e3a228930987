/** What the git module needs of the others. */
import type { CommitLink } from '../../contracts/git.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Clock } from '../../ports/clock.ts'
import type { GitRunner } from '../../ports/git.ts'

/** Who asks, and where: a handler's own context is one. */
export interface Asking {
  caller: Caller
  context: { agent_id: string; scope: string | null }
}

/** The links of one project. */
export interface CommitLinks {
  /** One for each commit and issue; another of the same pair changes nothing. */
  add(link: CommitLink): Promise<'added' | 'already'>
  /** Newest first. */
  list(filter: { issue?: string; sha?: string }): Promise<CommitLink[]>
}

export interface GitNeeds {
  git: GitRunner
  /** The root directory of the project that is meant. Throws where there is none. */
  rootOf(asking: Asking): string
  linksOf(asking: Asking): CommitLinks | Promise<CommitLinks>
  clock: Pick<Clock, 'now'>
}
