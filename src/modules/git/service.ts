/** The git module: one method for each action, on the repository of the call's project. */
import { blameContext, type BlameInput } from './blame.ts'
import { changedFiles, type ChangesInput } from './changes.ts'
import {
  autoLink,
  findLinkedIssues,
  linkCommit,
  listLinkedCommits,
  type Linker,
  type ScanInput,
} from './links.ts'
import { logRecent, type LogInput } from './log.ts'
import { findMarkers, type MarkersInput } from './markers.ts'
import type { Asking, CommitLinks, GitDeps } from './deps.ts'
import { findRemoval, type RemovalInput } from './removal.ts'
import { openRepository, type Repository } from './repository.ts'
import { status } from './status.ts'
import { tags, type TagsInput } from './tags.ts'
import type {
  BlameAnswer,
  ChangesAnswer,
  CommitLink,
  LinkedIssuesAnswer,
  LogAnswer,
  MarkersAnswer,
  RemovalAnswer,
  StatusAnswer,
  TagsAnswer,
} from '../../contracts/git.ts'
import { timestamp } from '../../ports/clock.ts'

/** Every method throws `repository_unknown`, `git_unavailable`, `git_failed`, `timed_out`, `limit_reached`. */
export interface GitService {
  logRecent(asking: Asking, input: LogInput): Promise<LogAnswer>
  changedFiles(asking: Asking, input: ChangesInput): Promise<ChangesAnswer>
  findRemoval(asking: Asking, input: RemovalInput): Promise<RemovalAnswer>
  blameContext(asking: Asking, input: BlameInput): Promise<BlameAnswer>
  findMarkers(asking: Asking, input: MarkersInput): Promise<MarkersAnswer>
  tags(asking: Asking, input: TagsInput): Promise<TagsAnswer>
  status(asking: Asking, input: object): Promise<StatusAnswer>
  findLinkedIssues(asking: Asking, input: ScanInput): Promise<LinkedIssuesAnswer>
  autoLink(
    asking: Asking,
    input: Omit<ScanInput, 'sha'>,
  ): Promise<{ linked: CommitLink[]; already: number; scanned: number; truncated: boolean }>
  linkCommit(
    asking: Asking,
    input: { sha: string; issue: string; note?: string | undefined },
  ): Promise<{ link: CommitLink; added: boolean }>
  listLinkedCommits(
    asking: Asking,
    input: { issue?: string | undefined; sha?: string | undefined; limit: number },
  ): Promise<{ links: CommitLink[]; truncated: boolean }>
}

export function createGit(deps: GitDeps): GitService {
  const { git, clock } = deps
  const repositoryOf = (asking: Asking) => openRepository(git, deps.rootOf(asking))

  const looking =
    <I, O>(look: (repository: Repository, input: I) => Promise<O>) =>
    async (asking: Asking, input: I): Promise<O> =>
      await look(await repositoryOf(asking), input)

  const linking =
    <I, O>(work: (repository: Repository, links: CommitLinks, input: I, linker: Linker) => Promise<O>) =>
    async (asking: Asking, input: I): Promise<O> => {
      const repository = await repositoryOf(asking)
      const linker = { linked_by: asking.caller.identity, linked_at: timestamp(clock) }
      return await work(repository, await deps.linksOf(asking), input, linker)
    }

  return {
    logRecent: looking(logRecent),
    changedFiles: looking(changedFiles),
    findRemoval: looking(findRemoval),
    blameContext: looking(blameContext),
    findMarkers: looking(findMarkers),
    tags: looking(tags),
    status: looking(status),
    findLinkedIssues: looking(findLinkedIssues),
    autoLink: linking(autoLink),
    linkCommit: linking(linkCommit),
    listLinkedCommits: linking(listLinkedCommits),
  }
}
