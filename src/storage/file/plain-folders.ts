/**
 * Folders that others bring along: a repository that was cloned may hold links where ours should stand, and
 * whoever wrote through one would write, or move away, what belongs to somebody else.
 */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'
import { codeOf } from './disk.ts'
import { unreadable } from './refusal.ts'

/** Every folder on the way from one that is trusted, which is not among them, to one below it. */
export function foldersTo(trusted: string, folder: string): string[] {
  const names = path.relative(trusted, folder).split(path.sep)
  return names.map((_, at) => path.join(trusted, ...names.slice(0, at + 1)))
}

/**
 * Looks at each by itself, never behind it; a few microseconds, so nothing is remembered of it. What is
 * missing is fine.
 *
 * @throws TurnbellError `store_unavailable`
 */
export function needPlainFolders(folders: readonly string[]): void {
  for (const folder of folders) {
    const stat = statOf(folder)
    if (stat === undefined) continue
    if (stat.isSymbolicLink()) throw inTheWay(folder, 'is a link, and what it leads to is left alone')
    if (!stat.isDirectory()) throw inTheWay(folder, 'is no folder')
  }
}

/** A lock is an empty folder. Anything else would be waited for in vain. */
export function needPlaceForLock(lock: string): void {
  const stat = statOf(lock)
  if (stat === undefined) return
  if (stat.isSymbolicLink()) throw inTheWay(lock, 'is a link, where the lock on this folder goes')
  if (!stat.isDirectory()) throw inTheWay(lock, 'is no folder, where the lock on this folder goes')
  if (!isEmpty(lock)) throw inTheWay(lock, 'holds something, where the lock on this folder goes')
}

function isEmpty(folder: string): boolean {
  try {
    return fs.readdirSync(folder).length === 0
  } catch (error) {
    // It was let go of meanwhile.
    if (codeOf(error) === 'ENOENT') return true
    throw unreadable(folder, error)
  }
}

function statOf(file: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false })
  } catch (cause) {
    // Nothing can lie in what is no folder.
    if (codeOf(cause) === 'ENOTDIR') return undefined
    throw unreadable(file, cause)
  }
}

function inTheWay(file: string, why: string): TurnbellError {
  return new TurnbellError('store_unavailable', {
    detail: `${file} ${why}`,
    hint: 'Look at where it comes from and remove it; it is made anew as a folder. Then call again.',
  })
}
