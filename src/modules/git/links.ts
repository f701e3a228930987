/** Links between commits and issues: found in commit messages, and stored. */
import { HARMLESS, readCommits, sinceOption } from './log.ts'
import type { CommitLinks } from './deps.ts'
import { subjectOf, within } from './output.ts'
import { referencesIn } from './references.ts'
import type { Repository } from './repository.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { CommitLink, IssueReference, LinkedIssuesAnswer } from '../../contracts/git.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

export interface ScanInput {
  sha?: string | undefined
  range?: string | undefined
  since?: string | undefined
  limit: number
}

/** Returns commits whose messages name an issue: one commit, a range, or the newest. */
export async function findLinkedIssues(
  repository: Repository,
  input: ScanInput,
): Promise<LinkedIssuesAnswer> {
  const { commits, scanned, truncated } = await scan(repository, input)
  const list = within(
    commits.filter(({ issues }) => issues.length > 0),
    input.limit,
  )
  return { commits: list.kept, scanned, truncated: truncated || list.truncated }
}

/** Author and time of a link. */
export interface Linker {
  linked_by: string
  linked_at: string
}

export async function linkCommit(
  repository: Repository,
  links: CommitLinks,
  input: { sha: string; issue: string; note?: string | undefined },
  linker: Linker,
): Promise<{ link: CommitLink; added: boolean }> {
  const sha = await repository.commit(input.sha)
  const { commits } = await scan(repository, { sha, limit: 1 })
  const link: CommitLink = {
    sha,
    issue: input.issue,
    relation: null,
    subject: commits[0]?.subject ?? '',
    ...(input.note === undefined ? {} : { note: input.note }),
    ...linker,
  }
  return { link, added: (await links.add(link)) === 'added' }
}

/** Stores links for the issues in commit messages. Idempotent; a call that reached its limit can be continued by another. */
export async function autoLink(
  repository: Repository,
  links: CommitLinks,
  input: Omit<ScanInput, 'sha'>,
  linker: Linker,
): Promise<{ linked: CommitLink[]; already: number; scanned: number; truncated: boolean }> {
  const { commits, scanned, truncated } = await scan(repository, input)
  // Oldest first, in the order of the commits.
  const named = commits
    .toReversed()
    .flatMap(({ sha, subject, issues }) =>
      issues.map(({ issue, relation }): CommitLink => ({ sha, issue, relation, subject, ...linker })),
    )
  const stored = new Set((await links.list({})).map(pairOf))
  const missing = named.filter((link) => !stored.has(pairOf(link)))
  const linked: CommitLink[] = []
  let already = named.length - missing.length
  for (const link of missing.slice(0, LIMITS.commit_links_max)) {
    if ((await links.add(link)) === 'added') linked.push(link)
    else already += 1
  }
  const list = within(linked, LIMITS.commit_links_max)
  const more = truncated || list.truncated || missing.length > LIMITS.commit_links_max
  return { linked: list.kept, already, scanned, truncated: more }
}

function pairOf({ sha, issue }: CommitLink): string {
  return `${sha} ${issue}`
}

/** Newest link first. */
export async function listLinkedCommits(
  repository: Repository,
  links: CommitLinks,
  input: { issue?: string | undefined; sha?: string | undefined; limit: number },
): Promise<{ links: CommitLink[]; truncated: boolean }> {
  const { issue, sha, limit } = input
  const found = await links.list({
    ...(issue === undefined ? {} : { issue }),
    ...(sha === undefined ? {} : { sha: await repository.commit(sha) }),
  })
  const { kept, truncated } = within(found, limit)
  return { links: kept, truncated }
}

interface Scanned {
  commits: {
    sha: string
    short_sha: string
    subject: string
    subject_cut?: true
    issues: IssueReference[]
  }[]
  scanned: number
  truncated: boolean
}

const FORMAT = '%H%x00%h%x00%s%x00%B%x00'
const FIELDS = 4

async function scan(repository: Repository, { sha, range, since, limit }: ScanInput): Promise<Scanned> {
  if (sha !== undefined && range !== undefined) {
    throw new TurnbellError('params_invalid', {
      detail: 'sha, range: one commit or a range of them, not both.',
      hint: 'Leave one of them out.',
    })
  }
  const tips = await tipsOf(repository, sha, range)
  if (tips.length === 0) return { commits: [], scanned: 0, truncated: false }
  const output = await repository.read([
    ...['log', '-z', `--format=${FORMAT}`, '--encoding=UTF-8', '--no-patch', ...HARMLESS],
    `--max-count=${sha === undefined ? limit + 1 : 1}`,
    ...sinceOption(since),
    ...[...tips, '--'],
  ])
  const read = readCommits(output, FIELDS)
  const commits = read.slice(0, limit).map(({ fields }) => {
    const [full = '', short_sha = '', subject = '', message = ''] = fields
    return { sha: full, short_sha, ...subjectOf(subject), issues: referencesIn(message) }
  })
  return { commits, scanned: commits.length, truncated: read.length > limit || output.stopped !== null }
}

/** First and last commit of the walk. */
async function tipsOf(
  repository: Repository,
  sha: string | undefined,
  range: string | undefined,
): Promise<string[]> {
  if (sha !== undefined) return [await repository.commit(sha)]
  if (range !== undefined) {
    const [from = '', to = ''] = range.split('..')
    const [base, tip] = [await repository.commit(side(from)), await repository.commit(side(to))]
    return [tip, `^${base}`]
  }
  const head = await repository.find('HEAD')
  return head === null ? [] : [head]
}

function side(revision: string): string {
  return revision === '' ? 'HEAD' : revision
}
