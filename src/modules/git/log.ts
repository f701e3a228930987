/** The newest commits, and the format of lists of commits. */
import { fieldsOf, subjectOf, timeOf, within } from './output.ts'
import type { Repository } from './repository.ts'
import type { CommitSummary, LogAnswer } from '../../contracts/git.ts'
import type { GitOutput } from '../../ports/git.ts'

export interface LogInput {
  limit: number
  since?: string | undefined
  author?: string | undefined
  path?: string | undefined
}

/** Returns the newest commits of HEAD, newest first; none in an empty repository. */
export async function logRecent(repository: Repository, input: LogInput): Promise<LogAnswer> {
  const { limit, since, author } = input
  const below = input.path === undefined ? [] : [repository.inside(input.path)]
  const head = await repository.find('HEAD')
  if (head === null) return { commits: [], truncated: false }
  const output = await repository.read([
    ...['log', '-z', `--format=${COMMIT_FORMAT}`, '--encoding=UTF-8'],
    // The raw lines are counted only, for the whole commit even if a path is given.
    ...['--raw', '--full-diff', '--find-renames', '--diff-merges=first-parent', ...HARMLESS],
    `--max-count=${limit + 1}`,
    ...sinceOption(since),
    ...(author === undefined ? [] : [`--author=${author}`, '--fixed-strings', '--regexp-ignore-case']),
    ...[head, '--', ...below],
  ])
  const commits = readCommits(output, COMMIT_FIELDS).map(({ fields, entries }): CommitSummary => ({
    ...summaryOf(fields),
    files_changed: entries.length,
  }))
  const { kept, truncated } = within(commits, limit)
  return { commits: kept, truncated: truncated || output.stopped !== null }
}

/** Options that prevent git from running programs configured in the repository. */
export const HARMLESS = ['--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=dirty'] as const

/** Every field ends with a NUL, which no message can contain. */
export const COMMIT_FORMAT = '%H%x00%h%x00%aN%x00%aE%x00%ct%x00%s%x00'
export const COMMIT_FIELDS = 6

export function summaryOf(fields: readonly string[]): Omit<CommitSummary, 'files_changed'> {
  const [sha = '', short_sha = '', author_name = '', author_email = '', seconds = '', subject = ''] = fields
  return { sha, short_sha, author_name, author_email, committed_at: timeOf(seconds), ...subjectOf(subject) }
}

/** A file of a commit in the output of `--raw`. */
export interface RawEntry {
  old_mode: string
  new_mode: string
  old_blob: string
  new_blob: string
  /** One letter. */
  status: string
  path: string
  old_path?: string
}

export interface ReadCommit {
  fields: string[]
  entries: RawEntry[]
}

/** Parses `log -z --format=… [--raw]`. Ignores an incomplete last commit of truncated output. */
export function readCommits(output: GitOutput, field_count: number): ReadCommit[] {
  const fields = fieldsOf(output)
  const commits: ReadCommit[] = []
  let at = 0
  while (at + field_count <= fields.length) {
    const commit: ReadCommit = { fields: fields.slice(at, at + field_count), entries: [] }
    // The NUL that ends the commit; its raw lines follow on the next line.
    at += field_count + 1
    for (let raw = rawEntryAt(fields, at); raw !== null; raw = rawEntryAt(fields, at)) {
      commit.entries.push(raw.entry)
      at = raw.next
    }
    commits.push(commit)
  }
  return output.stopped === null ? commits : commits.slice(0, -1)
}

/** Parses the entry at a field: `:mode mode blob blob R90`, a path, and a second path of a renamed file. */
export function rawEntryAt(fields: readonly string[], at: number): { entry: RawEntry; next: number } | null {
  const head = fields[at]
  const found = /^\n?:(\d+) (\d+) ([0-9a-f.]+) ([0-9a-f.]+) ([A-Z])\d*$/.exec(head ?? '')
  if (found === null) return null
  const [, old_mode = '', new_mode = '', old_blob = '', new_blob = '', status = ''] = found
  const moved = status === 'R' || status === 'C'
  const [first, second] = [fields[at + 1], fields[at + 2]]
  if (first === undefined || (moved && second === undefined)) return null
  const modes = { old_mode, new_mode, old_blob, new_blob, status }
  return moved
    ? { entry: { ...modes, path: second as string, old_path: first }, next: at + 3 }
    : { entry: { ...modes, path: first }, next: at + 2 }
}

/** A date without a time means midnight UTC, because git would use the current time of day. Git parses time spans. */
export function sinceOption(since: string | undefined): string[] {
  if (since === undefined) return []
  if (/^\d{4}-\d{2}-\d{2}$/.test(since)) return [`--since=${since}T00:00:00Z`]
  return [`--since=${/^\d{4}-/.test(since) || since.endsWith('ago') ? since : `${since} ago`}`]
}
