/**
 * Refuses to write through symbolic links. A cloned repository may contain links in place of turnbell's folders;
 * writing through one would change or move files elsewhere.
 */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { codeOf } from '../journal/disk.ts'
import { toReadError } from '../journal/disk-errors.ts'

/** Returns every folder on the path from a trusted one, excluded, to one below it, included. */
export function foldersTo(trusted: string, folder: string): string[] {
  const names = path.relative(trusted, folder).split(path.sep)
  return names.map((_, at) => path.join(trusted, ...names.slice(0, at + 1)))
}

/**
 * Checks that each is a folder and not a link, and that the directory around the first one was not replaced by a link.
 * Missing folders are allowed. Takes a few microseconds, so the result is not cached.
 *
 * @throws TurnbellError `store_unavailable`
 */
export function checkPlainFolders(folders: readonly string[]): void {
  const [first] = folders
  if (first !== undefined) checkNotMoved(path.dirname(first))
  for (const folder of folders) {
    const stat = statOf(folder)
    if (stat === undefined) continue
    if (stat.isSymbolicLink()) throw blockedError(folder, 'is a link, which is not followed')
    if (!stat.isDirectory()) throw blockedError(folder, 'is not a folder')
  }
}

/** Throws if a directory, given by its real path, has been replaced by a link. */
function checkNotMoved(directory: string): void {
  let real: string
  try {
    real = fs.realpathSync.native(directory)
  } catch {
    // A missing directory is allowed.
    return
  }
  if (real === directory) return
  throw new TurnbellError('store_unavailable', {
    detail: `${directory} was replaced by a link to ${real} after it was opened`,
    hint: 'Check where the link comes from. If it is intended, restart the hub.',
  })
}

/** Checks that the lock path is free or an empty folder. Waiting for anything else would never end. */
export function checkLockPath(lock: string): void {
  const stat = statOf(lock)
  if (stat === undefined) return
  if (stat.isSymbolicLink()) throw blockedError(lock, 'is a link at the path of the lock')
  if (!stat.isDirectory()) throw blockedError(lock, 'is not a folder, at the path of the lock')
  if (!isEmpty(lock)) throw blockedError(lock, 'is not empty, at the path of the lock')
}

function isEmpty(folder: string): boolean {
  try {
    return fs.readdirSync(folder).length === 0
  } catch (error) {
    // The lock was released after the check.
    if (codeOf(error) === 'ENOENT') return true
    throw toReadError(folder, error)
  }
}

function statOf(file: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false })
  } catch (cause) {
    // The parent is not a folder, so the path does not exist.
    if (codeOf(cause) === 'ENOTDIR') return undefined
    throw toReadError(file, cause)
  }
}

function blockedError(file: string, why: string): TurnbellError {
  return new TurnbellError('store_unavailable', {
    detail: `${file} ${why}`,
    hint: 'Check where it comes from and remove it, then call again; turnbell creates the folder.',
  })
}
