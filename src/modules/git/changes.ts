/** Which files differ: between two commits, or between a commit and what lies on disk or is staged. */
import { HARMLESS, rawEntryAt } from './log.ts'
import { fieldsOf, within } from './output.ts'
import type { Repository } from './repository.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { ChangedFile, ChangesAnswer, ChangeStatus } from '../../contracts/git.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { GitOutput } from '../../ports/git.ts'

export interface ChangesInput {
  from?: string | undefined
  to?: string | undefined
  staged?: boolean | undefined
  path?: string | undefined
}

/**
 * Without `to`: what differs from `from` (HEAD) on disk, untracked files among it, or with `staged` in the
 * index alone. With `to`: what differs from `from` (its first parent) in that commit.
 */
export async function changedFiles(repository: Repository, input: ChangesInput): Promise<ChangesAnswer> {
  const { from, to, staged = false } = input
  if (staged && to !== undefined) {
    throw new TurnbellError('params_invalid', {
      detail: 'staged, to: what is staged is compared with `from`, and there is no other side.',
      hint: 'Leave one of them out.',
    })
  }
  const below = ['--', ...(input.path === undefined ? [] : [repository.inside(input.path)])]
  const target = to === undefined ? null : await repository.commit(to)
  const base = await baseOf(repository, from, target)
  const sides = [...(staged ? ['--cached'] : []), base, ...(target === null ? [] : [target])]
  const diff = await repository.read([
    ...['diff', '-z', '--raw', '--numstat', '--no-abbrev', '--find-renames', '--find-copies'],
    ...['--no-relative', ...HARMLESS],
    ...[...sides, ...below],
  ])
  const files = new Map(readDiff(diff).map((file) => [file.path, file]))
  let stopped = diff.stopped !== null
  if (target === null && !staged) {
    const others = await repository.read([
      ...['ls-files', '-z', '-t', '--others', '--unmerged', '--exclude-standard'],
      ...below,
    ])
    addOthers(files, fieldsOf(others))
    stopped ||= others.stopped !== null
  }
  const { kept, truncated } = within([...files.values()], LIMITS.git_files_max)
  return { files: kept, truncated: truncated || stopped }
}

/** What only a look at the index tells: `? path`, and for each side of a conflict `M mode blob side\tpath`. */
function addOthers(files: Map<string, ChangedFile>, fields: readonly string[]): void {
  for (const field of fields) {
    if (field.startsWith('? ')) {
      const path = field.slice(2)
      files.set(path, { path, status: 'untracked' })
    } else {
      const path = field.slice(field.indexOf('\t') + 1)
      files.set(path, { ...files.get(path), path, status: 'conflicted' })
    }
  }
}

async function baseOf(
  repository: Repository,
  from: string | undefined,
  target: string | null,
): Promise<string> {
  if (from !== undefined) return repository.commit(from)
  const found = await repository.find(target === null ? 'HEAD' : `${target}^1`)
  return found ?? repository.emptyTree()
}

/** What `diff -z --raw --numstat` says: first every file, then every count, in the same order. */
export function readDiff(output: GitOutput): ChangedFile[] {
  const fields = fieldsOf(output)
  const files = new Map<string, ChangedFile>()
  let at = 0
  for (let raw = rawEntryAt(fields, at); raw !== null; raw = rawEntryAt(fields, at)) {
    at = raw.next
    const { path, old_path, status } = raw.entry
    files.set(path, {
      path,
      status: statusOf(status),
      ...(old_path === undefined ? {} : { old_path }),
    })
  }
  while (at < fields.length) {
    const [, insertions = '-', deletions = '-', told = ''] =
      /^(\d{1,15}|-)\t(\d{1,15}|-)\t(.*)$/s.exec(fields[at] ?? '') ?? []
    // Of a renamed file both paths follow.
    const path = told === '' ? fields[at + 2] : told
    at += told === '' ? 3 : 1
    const file = path === undefined ? undefined : files.get(path)
    // A dash is a binary file's, and of a conflict in the index nothing was counted.
    if (file === undefined || insertions === '-' || file.status === 'conflicted') continue
    file.insertions = Number(insertions)
    file.deletions = Number(deletions)
  }
  return [...files.values()]
}

/** A letter of git's. `T`, a file that became a link or the like, is a modification. */
export function statusOf(letter: string): ChangeStatus {
  const known: Record<string, ChangeStatus> = {
    A: 'added',
    D: 'deleted',
    R: 'renamed',
    C: 'copied',
    U: 'conflicted',
  }
  return known[letter] ?? 'modified'
}
