/**
 * Commits that removed a text.
 *
 * Git's pickaxe lists commits in which the number of occurrences in a file changed. The occurrences are counted here over
 * all files of the commit, because a text that only moved to another file was not removed. A merge counts if it contains
 * the text less often than each of its parents.
 */
import {
  COMMIT_FIELDS,
  COMMIT_FORMAT,
  HARMLESS,
  readCommits,
  summaryOf,
  type RawEntry,
  type ReadCommit,
} from './log.ts'
import { textOf, within } from './output.ts'
import { removedLines } from './removed-lines.ts'
import type { Repository } from './repository.ts'
import type { Removal, RemovalAnswer } from '../../contracts/git.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

export interface RemovalInput {
  text: string
  path?: string | undefined
  limit: number
}

/** Newest first. */
export async function findRemoval(repository: Repository, input: RemovalInput): Promise<RemovalAnswer> {
  const { text, limit } = input
  const below = input.path === undefined ? [] : [repository.inside(input.path)]
  const head = await repository.find('HEAD')
  if (head === null) return { removals: [], truncated: false }
  const output = await repository.read(
    [
      ...['log', '-z', `--format=${COMMIT_FORMAT}%P%x00`, '--encoding=UTF-8', '--raw'],
      ...['--find-renames', '--diff-merges=separate', ...HARMLESS],
      `-S${text}`,
      `--max-count=${LIMITS.git_removal_commits_max}`,
      ...[head, '--', ...below],
    ],
    { partial: true },
  )
  const commits = readCommits(output, COMMIT_FIELDS + 1)
  const counter = createCounter(repository, text)
  const removals: Removal[] = []
  let files_cut = false
  let more = output.stopped !== null || commits.length >= LIMITS.git_removal_commits_max
  for (const commit of byCommit(commits)) {
    const files = await removedFiles(counter, commit, text)
    if (files.length === 0) continue
    if (removals.length === limit) {
      more = true
      break
    }
    const shown = within(files, LIMITS.git_removal_files_max, LIMITS.git_removal_bytes_max)
    files_cut ||= shown.truncated
    removals.push({ ...summaryOf(commit.fields), files: shown.kept })
  }
  const { kept, truncated } = within(removals, limit)
  return { removals: kept, truncated: truncated || more || files_cut || counter.skipped() }
}

interface Candidate {
  fields: string[]
  /** Differences from each parent. */
  sides: RawEntry[][]
}

/** Git lists a merge once for each parent from which it differs. A merge that equals a parent removed nothing. */
function byCommit(commits: readonly ReadCommit[]): Candidate[] {
  const candidates = new Map<string, Candidate>()
  for (const { fields, entries } of commits) {
    const [sha = ''] = fields
    const known = candidates.get(sha) ?? { fields, sides: [] }
    known.sides.push(entries)
    candidates.set(sha, known)
  }
  return [...candidates.values()].filter(({ fields, sides }) => {
    const parents = (fields[COMMIT_FIELDS] ?? '').split(' ').filter((parent) => parent !== '')
    return sides.length >= parents.length
  })
}

async function removedFiles(counter: Counter, { sides }: Candidate, text: string): Promise<Removal['files']> {
  let shown: Removal['files'] = []
  for (const [nth, entries] of sides.entries()) {
    const counts: FileCount[] = []
    for (const entry of entries) counts.push(...(await counter.count(entry)))
    if (counts.reduce((sum, { fell_by }) => sum + fell_by, 0) <= 0) return []
    // Lines are shown as in the first parent.
    if (nth === 0) shown = counts.filter(({ fell_by }) => fell_by > 0).map((count) => fileOf(count, text))
  }
  return shown
}

function fileOf({ path, before, after, fell_by }: FileCount, text: string): Removal['files'][number] {
  return { path, removed: fell_by, lines: removedLines(textOf(before), textOf(after), text) }
}

interface FileCount {
  path: string
  before: Uint8Array
  after: Uint8Array
  fell_by: number
}

interface Counter {
  /** Empty for a file that is not read. */
  count(entry: RawEntry): Promise<FileCount[]>
  /** Whether a file was not read, because it is too large or there are too many. */
  skipped(): boolean
}

const NOTHING = new Uint8Array()
const SUBMODULE_MODE = '160000'

function createCounter(repository: Repository, text: string): Counter {
  let skipped = false
  let files = 0

  const blobOf = async (blob: string): Promise<Uint8Array | null> => {
    const output_bytes_max = LIMITS.git_removal_file_bytes_max
    const { stdout, stopped } = await repository.read(['cat-file', 'blob', blob], { output_bytes_max })
    return stopped === null ? stdout : null
  }

  return {
    skipped: () => skipped,
    async count(entry) {
      if (entry.old_mode === SUBMODULE_MODE || entry.new_mode === SUBMODULE_MODE) return []
      files += 1
      const before =
        files > LIMITS.git_removal_files_max
          ? null
          : await (entry.status === 'A' ? NOTHING : blobOf(entry.old_blob))
      const after = before === null ? null : await (entry.status === 'D' ? NOTHING : blobOf(entry.new_blob))
      if (before === null || after === null) {
        skipped = true
        return []
      }
      const fell_by = occurrences(before, text) - occurrences(after, text)
      return [{ path: entry.old_path ?? entry.path, before, after, fell_by }]
    },
  }
}

/** Counts bytes without overlaps, as git does. */
function occurrences(contents: Uint8Array, text: string): number {
  const wanted = Buffer.from(text)
  const bytes = Buffer.from(contents.buffer, contents.byteOffset, contents.length)
  let count = 0
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + wanted.length)) count += 1
  return count
}
