/** The git module on real repositories, with in-memory links. */
import type { CommitLink } from '../../../src/contracts/git.ts'
import type { Asking, CommitLinks } from '../../../src/modules/git/deps.ts'
import { openRepository, type Repository } from '../../../src/modules/git/repository.ts'
import { createGit, type GitService } from '../../../src/modules/git/service.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createGitRunner } from '../../../src/system/git/git-runner.ts'
import { realPath } from '../../../src/system/files/inside.ts'
import { fakeClock } from '../fakes/fake-clock.ts'
import { GIT_ENV } from '../disk/test-repository.ts'

export const gitRunner = createGitRunner({ env: GIT_ENV, clock: systemClock })

export function repositoryAt(root: string): Promise<Repository> {
  return openRepository(gitRunner, realPath(root))
}

export function memoryLinks(): CommitLinks {
  const links: CommitLink[] = []
  return {
    add(link) {
      if (links.some(({ sha, issue }) => sha === link.sha && issue === link.issue))
        return Promise.resolve('already')
      links.unshift(link)
      return Promise.resolve('added')
    },
    list: ({ issue, sha }) =>
      Promise.resolve(
        links.filter((link) => (issue ?? link.issue) === link.issue && (sha ?? link.sha) === link.sha),
      ),
  }
}

export interface GitWorld {
  git: GitService
  ada: Asking
  links: CommitLinks
}

export function gitWorld(root: string): GitWorld {
  const links = memoryLinks()
  const git = createGit({
    git: gitRunner,
    rootOf: () => realPath(root),
    linksOf: () => links,
    clock: fakeClock(),
  })
  const caller = { tenant_id: 'local', kind: 'agent', identity: 'ada' } as const
  return { git, links, ada: { caller, context: { agent_id: 'ada', scope: null } } }
}
