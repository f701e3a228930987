/**
 * Opens files whose names come from an agent, a repository or a project. No other code may open them.
 *
 * The name is resolved first. Its real path must be inside the real root and outside of closed directories, and is
 * opened without following a link. The check is repeated on the open descriptor: the kernel reports its path, so a
 * directory that is swapped for a link cannot redirect the read. Without `/proc` the path is resolved and compared
 * again after the open, which a process that swaps twice in between can defeat.
 */
import fs from 'node:fs'
import path from 'node:path'
import { READ_PLAIN } from './safe-read.ts'

export interface Refused {
  /**
   * `missing`: no such file. `outside`: outside of the root, or in a closed directory. `changed`: replaced by another
   * process during the open. `shared`: it has a second name (a hard link). `denied`: no permission.
   */
  why: 'missing' | 'outside' | 'changed' | 'not_plain' | 'shared' | 'denied' | 'too_large'
  /** Completes "it cannot be read: ". */
  reason: string
}

export interface OpenedInside {
  fd: number
  stat: fs.Stats
  /** Real path. */
  path: string
}

/** Opens a regular file inside a root for reading. `closed`: directories inside the root that must not be read. */
export function openInside(
  root: string,
  name: string,
  closed: readonly string[] = [],
): OpenedInside | Refused {
  try {
    const top = fs.realpathSync.native(root)
    const file = fs.realpathSync.native(path.resolve(top, name))
    if (!isWithin(top, file)) return OUTSIDE
    return closed.some((place) => isWithin(realPath(place), file)) ? CLOSED : openPlain(file)
  } catch (error) {
    return refusalOf(error)
  }
}

/** Returns the content of a regular file inside a root. */
export function readInside(
  root: string,
  name: string,
  bytes_max: number,
  closed: readonly string[] = [],
): { bytes: Buffer; path: string } | Refused {
  const opened = openInside(root, name, closed)
  if ('why' in opened) return opened
  try {
    if (opened.stat.size > bytes_max)
      return { why: 'too_large', reason: `it is larger than ${bytes_max} bytes` }
    // The file can grow during the read.
    const bytes = Buffer.alloc(opened.stat.size)
    return { bytes: bytes.subarray(0, readFully(opened.fd, bytes)), path: opened.path }
  } catch (error) {
    return refusalOf(error)
  } finally {
    fs.closeSync(opened.fd)
  }
}

/** Opens a regular file by a path without links; the caller has checked the parent directories. */
export function openPlain(file: string): OpenedInside | Refused {
  let fd: number
  try {
    // Opening a device can have side effects.
    if (!fs.lstatSync(file).isFile()) return NOT_PLAIN
    fd = fs.openSync(file, READ_PLAIN)
  } catch (error) {
    return refusalOf(error)
  }
  const checked = checkOpened(fd, file)
  if ('stat' in checked) return { fd, stat: checked.stat, path: file }
  fs.closeSync(fd)
  return checked
}

/**
 * Checks an open descriptor: a regular file with one name, which is the file at `file`, a path without links. A file
 * that was replaced or removed after the open may still be read.
 */
export function checkOpened(fd: number, file: string): { stat: fs.Stats } | Refused {
  const stat = fs.fstatSync(fd)
  if (!stat.isFile()) return NOT_PLAIN
  if (stat.nlink > 1) return SHARED
  return isAt(fd, stat, file) ? { stat } : CHANGED
}

/** Suffix that the kernel adds to the path of a removed file. */
const REMOVED = ' (deleted)'

/** Whether a descriptor belongs to the current or former file at a path without links. */
export function isAt(fd: number, stat: Pick<fs.Stats, 'dev' | 'ino'>, file: string): boolean {
  const opened = pathOf(fd)
  if (opened !== null) return opened === file || opened === `${file}${REMOVED}`
  const named = fs.lstatSync(file, { throwIfNoEntry: false })
  return (
    named !== undefined &&
    named.ino === stat.ino &&
    named.dev === stat.dev &&
    fs.realpathSync.native(file) === file
  )
}

/** Returns the path of an open descriptor as reported by the kernel, or null. */
function pathOf(fd: number): string | null {
  if (process.platform !== 'linux') return null
  try {
    return fs.readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return null
  }
}

/** Whether a path is the directory or inside it. Both must be absolute and normalized. */
export function isWithin(directory: string, place: string): boolean {
  return (
    place === directory || place.startsWith(directory.endsWith(path.sep) ? directory : directory + path.sep)
  )
}

/** Resolves the existing part of a path and appends the rest. */
export function realPath(given: string): string {
  try {
    return fs.realpathSync.native(given)
  } catch {
    const there = existingPart(given)
    return path.join(realOrSame(there), path.relative(there, given))
  }
}

/** Walks from the root, because a path from an agent can have thousands of parts, few of which exist. */
function existingPart(given: string): string {
  const { root } = path.parse(given)
  let there = root
  for (const name of given.slice(root.length).split(path.sep)) {
    const next = path.join(there, name)
    if (!exists(next)) break
    there = next
  }
  return there
}

function exists(place: string): boolean {
  try {
    return fs.statSync(place, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

function realOrSame(place: string): string {
  try {
    return fs.realpathSync.native(place)
  } catch {
    return place
  }
}

function readFully(fd: number, bytes: Buffer): number {
  let filled = 0
  while (filled < bytes.length) {
    const more = fs.readSync(fd, bytes, filled, bytes.length - filled, filled)
    if (more === 0) break
    filled += more
  }
  return filled
}

const NOT_PLAIN: Refused = { why: 'not_plain', reason: 'it is not a regular file' }
const OUTSIDE: Refused = { why: 'outside', reason: 'it is outside of the project' }
const CLOSED: Refused = { why: 'outside', reason: 'it belongs to a turnbell home' }
const SHARED: Refused = {
  why: 'shared',
  reason: 'it has a second name (a hard link), which can be outside of the project',
}
const CHANGED: Refused = { why: 'changed', reason: 'it was replaced during the open' }

/** The last two mean that no file can have this name. */
const MISSING = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE']

function refusalOf(error: unknown): Refused {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (MISSING.includes(code)) return { why: 'missing', reason: 'there is no such file' }
  if (code === 'ELOOP') return { why: 'outside', reason: 'it is a broken or circular link' }
  if (['ENXIO', 'EAGAIN', 'EISDIR'].includes(code)) return NOT_PLAIN
  return { why: 'denied', reason: code === 'EACCES' || code === 'EPERM' ? 'it may not be read' : message }
}
