/**
 * File access for the journal: few calls, all synchronous except the sync, which is the only slow one.
 * All disk access of the journal uses this interface, so that a test can count syncs, fill the disk
 * or tear a write.
 */
import fs from 'node:fs'
import path from 'node:path'
import { makeDurableDirectory, syncDirectoryNow } from '../../../system/files/durable-directory.ts'

export interface Disk {
  /**
   * Opens a file: `read` requires it, `write` creates a missing one, `new` fails if it exists. Throws `EFTYPE` if it is not a
   * regular file, without reading from a device or blocking on a pipe.
   */
  open(file: string, how: 'read' | 'write' | 'new'): number
  close(fd: number): void
  /** Fills `target` from `position` up to the end of the file. Returns the number of bytes read. */
  read(fd: number, target: Uint8Array, position: number): number
  /** May write fewer bytes than given, like write(2). Returns the number of bytes written. */
  write(fd: number, source: Uint8Array, position: number): number
  /** fdatasync: makes the bytes and the metadata needed to read them durable. Runs in the thread pool. */
  sync(fd: number, done: (error: Error | null) => void): void
  /** The same, blocking; only for rare operations. */
  syncNow(fd: number): void
  size(fd: number): number
  /** Returns whether this name still refers to the open file. */
  leadsTo(file: string, fd: number): boolean
  /** Returns the file's modification time. */
  changedAt(fd: number): number
  truncate(fd: number, bytes: number): void

  /** Returns null if there is no such file. */
  readFile(file: string): Buffer | null
  /** Returns whether the path is a regular file or does not exist. False for a link. */
  isPlain(file: string): boolean
  /** Returns the sorted names in a directory; empty if the directory does not exist. */
  list(directory: string): string[]
  /** Creates a directory and missing parents, all durable. */
  makeDirectory(directory: string): void
  rename(from: string, to: string): void
  /** Removes a file; a missing file is not an error. */
  remove(file: string): void
  /** Makes created, renamed and removed names durable. */
  syncDirectory(directory: string): void
}

const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR } = fs.constants
const FLAGS = { read: O_RDONLY, write: O_RDWR | O_CREAT, new: O_RDWR | O_CREAT | O_EXCL } as const
/** Not defined on Windows. */
const O_NONBLOCK = fs.constants.O_NONBLOCK ?? 0

function openPlain(file: string, flags: number): number {
  const fd = fs.openSync(file, flags | O_NONBLOCK, 0o600)
  if (fs.fstatSync(fd).isFile()) return fd
  fs.closeSync(fd)
  throw Object.assign(new Error(`EFTYPE: not a regular file, open '${file}'`), { code: 'EFTYPE', errno: -79 })
}

export const systemDisk: Disk = {
  open: (file, how) => openPlain(file, FLAGS[how]),
  close: (fd) => fs.closeSync(fd),
  read(fd, target, position) {
    let filled = 0
    while (filled < target.length) {
      const bytes = fs.readSync(fd, target, filled, target.length - filled, position + filled)
      if (bytes === 0) break
      filled += bytes
    }
    return filled
  },
  write: (fd, source, position) => fs.writeSync(fd, source, 0, source.length, position),
  sync: (fd, done) => fs.fdatasync(fd, done),
  syncNow: (fd) => fs.fdatasyncSync(fd),
  size: (fd) => fs.fstatSync(fd).size,
  leadsTo(file, fd) {
    const named = fs.statSync(file, { throwIfNoEntry: false, bigint: true })
    const opened = fs.fstatSync(fd, { bigint: true })
    return named?.ino === opened.ino && named.dev === opened.dev
  },
  changedAt: (fd) => fs.fstatSync(fd).mtimeMs,
  truncate: (fd, bytes) => fs.ftruncateSync(fd, bytes),

  readFile(file) {
    let fd: number
    try {
      fd = openPlain(file, O_RDONLY)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null
      throw error
    }
    try {
      return fs.readFileSync(fd)
    } finally {
      fs.closeSync(fd)
    }
  },
  isPlain: (file) => fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() !== false,
  list(directory) {
    try {
      return fs.readdirSync(directory).sort()
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    }
  },
  makeDirectory: (directory) => makeDurableDirectory(directory, 0o700),
  rename: (from, to) => fs.renameSync(from, to),
  remove: (file) => fs.rmSync(file, { force: true }),
  syncDirectory: syncDirectoryNow,
}

/** Writes all bytes, repeating short writes. */
export function writeFully(disk: Disk, fd: number, source: Uint8Array, position: number): void {
  let written = 0
  while (written < source.length) {
    const bytes = disk.write(fd, written === 0 ? source : source.subarray(written), position + written)
    if (bytes === 0) throw Object.assign(new Error('the disk accepted no bytes'), { code: 'EIO' })
    written += bytes
  }
}

/** Replaces a file atomically: writes a draft, syncs it and renames it. Readers see the old or the new file, also after a crash. */
export function replaceFile(disk: Disk, file: string, chunks: readonly Uint8Array[]): void {
  disk.rename(writeDraft(disk, file, chunks), file)
  disk.syncDirectory(path.dirname(file))
}

/** Writes and syncs a draft and returns its name; the caller renames it. */
export function writeDraft(disk: Disk, file: string, chunks: readonly Uint8Array[]): string {
  const draft = `${file}.new`
  disk.remove(draft)
  const fd = disk.open(draft, 'new')
  try {
    let position = 0
    for (const chunk of chunks) {
      writeFully(disk, fd, chunk, position)
      position += chunk.length
    }
    disk.syncNow(fd)
  } finally {
    disk.close(fd)
  }
  return draft
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code
}

/** Returns whether `open` failed because the path is not a file. */
export const isNotAFile = (code: string | undefined): boolean => code === 'EFTYPE' || code === 'EISDIR'
