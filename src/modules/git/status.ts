/** Status of the work tree: branch, upstream, and staged, changed, untracked and conflicted files. */
import { statusOf } from './changes.ts'
import { fieldsOf, within } from './output.ts'
import type { Repository } from './repository.ts'
import type { ChangedFile, StatusAnswer } from '../../contracts/git.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { GitOutput } from '../../ports/git.ts'

export async function status(repository: Repository): Promise<StatusAnswer> {
  const output = await repository.read([
    ...['status', '--porcelain=v2', '-z', '--branch', '--ahead-behind', '--find-renames'],
    ...['--untracked-files=normal', '--ignore-submodules=dirty'],
  ])
  const { header, staged, unstaged, untracked, conflicted } = readStatus(output)
  const lists = {
    staged: share(staged),
    unstaged: share(unstaged),
    untracked: share(untracked),
    conflicted: share(conflicted),
  }
  return {
    root: repository.top,
    ...header,
    // Git prints the content of HEAD even if the commit does not exist.
    head: header.head === null ? null : await repository.find(header.head),
    clean: staged.length + unstaged.length + untracked.length + conflicted.length === 0,
    counts: {
      staged: staged.length,
      unstaged: unstaged.length,
      untracked: untracked.length,
      conflicted: conflicted.length,
    },
    staged: lists.staged.kept,
    unstaged: lists.unstaged.kept,
    untracked: lists.untracked.kept.filter((path) => repository.holds(path)),
    conflicted: lists.conflicted.kept,
    truncated: output.stopped !== null || Object.values(lists).some(({ truncated }) => truncated),
  }
}

/** The four lists share the bytes of one response. */
function share<T>(items: readonly T[]): { kept: T[]; truncated: boolean } {
  return within(items, LIMITS.git_files_max / 4, LIMITS.git_list_bytes_max / 4)
}

interface ReadStatus {
  header: Pick<StatusAnswer, 'head' | 'branch' | 'upstream' | 'ahead' | 'behind'>
  staged: ChangedFile[]
  unstaged: ChangedFile[]
  untracked: string[]
  conflicted: string[]
}

/** Parses `status --porcelain=v2 -z --branch`. */
export function readStatus(output: Pick<GitOutput, 'stdout'>): ReadStatus {
  const fields = fieldsOf(output)
  const found: ReadStatus = {
    header: { head: null, branch: null, upstream: null, ahead: null, behind: null },
    staged: [],
    unstaged: [],
    untracked: [],
    conflicted: [],
  }
  for (let at = 0; at < fields.length; at += 1) {
    const field = fields[at] ?? ''
    const kind = field.slice(0, 2)
    if (kind === '# ') readHeader(found.header, field.slice(2))
    else if (kind === '? ') found.untracked.push(field.slice(2))
    else if (kind === 'u ') found.conflicted.push(after(field, 10))
    else if (kind === '1 ') readEntry(found, field, after(field, 8))
    else if (kind === '2 ') {
      at += 1
      // Truncated output may end between the two paths.
      if (at < fields.length) readEntry(found, field, after(field, 9), fields[at])
    }
  }
  return found
}

function readHeader(header: ReadStatus['header'], line: string): void {
  const [name, ...rest] = line.split(' ')
  const value = rest.join(' ')
  if (name === 'branch.oid') header.head = value === '(initial)' ? null : value
  if (name === 'branch.head') header.branch = value === '(detached)' ? null : value
  if (name === 'branch.upstream') header.upstream = value
  if (name === 'branch.ab') {
    const [, ahead, behind] = /^\+(\d{1,15}) -(\d{1,15})$/.exec(value) ?? []
    header.ahead = Number(ahead ?? 0)
    header.behind = Number(behind ?? 0)
  }
}

/** Parses `1 XY …`: X is the difference of the index from HEAD, Y of the file from the index; a dot means none. */
function readEntry(found: ReadStatus, field: string, path: string, old_path?: string): void {
  for (const [list, letter] of [
    [found.staged, field.charAt(2)],
    [found.unstaged, field.charAt(3)],
  ] as const) {
    if (letter === '.') continue
    const file_status = statusOf(letter)
    const moved = old_path !== undefined && (file_status === 'renamed' || file_status === 'copied')
    list.push({ path, status: file_status, ...(moved ? { old_path } : {}) })
  }
}

/** Returns the text after a number of words; it may contain spaces. */
function after(field: string, words: number): string {
  return field.split(' ').slice(words).join(' ')
}
