/** Changed files: between two commits, or between a commit and the work tree or the index. */
import { HARMLESS, rawEntryAt } from './log.ts'
import { fieldsOf, within } from './output.ts'
import type { Repository } from './repository.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { ChangedFile, ChangesAnswer, ChangeStatus } from '../../contracts/git.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { GitOutput } from '../../ports/git.ts'

export interface ChangesInput {
  from?: string | undefined
  to?: string | undefined
  staged?: boolean | undefined
  path?: string | undefined
}

/**
 * Without `to`: differences between `from` (default: HEAD) and the work tree including untracked files, or the index with
 * `staged`. With `to`: differences between `from` (default: its first parent) and that commit.
 */
export async function changedFiles(repository: Repository, input: ChangesInput): Promise<ChangesAnswer> {
  const { from, to, staged = false } = input
  if (staged && to !== undefined) {
    throw new TurnbellError('params_invalid', {
      detail: 'staged, to: only one of them is allowed, because staged compares the index with `from`.',
      hint: 'Leave one of them out.',
    })
  }
  const looks_at_disk = to === undefined && !staged
  const place =
    input.path === undefined
      ? null
      : looks_at_disk
        ? repository.onDisk(input.path)
        : repository.inside(input.path)
  const below = ['--', ...(place === null ? [] : [place])]
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
  if (looks_at_disk) {
    // From the top, because a named path may be replaced by a link before git reads it.
    const args = ['ls-files', '-z', '-t', '--others', '--unmerged', '--exclude-standard']
    const others = await repository.read(args)
    addOthers(files, fieldsOf(others), place)
    stopped ||= others.stopped !== null
  }
  const { kept, truncated } = within([...files.values()], LIMITS.git_files_max)
  const isHere = ({ path, status }: ChangedFile) => status !== 'untracked' || repository.holds(path)
  return { files: kept.filter(isHere), truncated: truncated || stopped }
}

/** Adds untracked files (`? path`) and conflicts (`M mode blob side\tpath` for each side) from the index. */
function addOthers(files: Map<string, ChangedFile>, fields: readonly string[], place: string | null): void {
  for (const field of fields) {
    const untracked = field.startsWith('? ')
    const path = untracked ? field.slice(2) : field.slice(field.indexOf('\t') + 1)
    if (place !== null && !isBelow(place, path)) continue
    if (untracked) files.set(path, { path, status: 'untracked' })
    else files.set(path, { ...files.get(path), path, status: 'conflicted' })
  }
}

/** `place` in git's notation: the top is a dot, and a directory may end with a slash. */
function isBelow(place: string, path: string): boolean {
  const plain = place.replace(/\/+$/, '')
  return plain === '.' || path === plain || path.startsWith(`${plain}/`)
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

/** Parses `diff -z --raw --numstat`: every file, then every count in the same order. */
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
    const [, insertions = '-', deletions = '-', own_path = ''] =
      /^(\d{1,15}|-)\t(\d{1,15}|-)\t(.*)$/s.exec(fields[at] ?? '') ?? []
    // Both paths of a renamed file follow.
    const path = own_path === '' ? fields[at + 2] : own_path
    at += own_path === '' ? 3 : 1
    const file = path === undefined ? undefined : files.get(path)
    // Binary files have a dash, and conflicts in the index have no count.
    if (file === undefined || insertions === '-' || file.status === 'conflicted') continue
    file.insertions = Number(insertions)
    file.deletions = Number(deletions)
  }
  return [...files.values()]
}

/** Status of a letter of git. `T` (type change, such as a file that became a link) is a modification. */
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
