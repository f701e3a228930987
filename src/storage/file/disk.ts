/**
 * File access as the journal needs it: few calls, synchronous but for the sync itself, which is the one
 * thing that takes long. Everything the file stores do to a disk goes through here, so that a test can
 * count syncs, fill the disk up, or tear a write.
 */
import fs from 'node:fs'
import path from 'node:path'
import { makeDurableDirectory, syncDirectoryNow } from '../../system/durable-directory.ts'

export interface Disk {
  /** `read` needs the file, `write` makes it where it is missing, `new` refuses one that is there. */
  open(file: string, how: 'read' | 'write' | 'new'): number
  close(fd: number): void
  /** Fills `target` from `position` as far as the file goes; answers the bytes read. */
  read(fd: number, target: Uint8Array, position: number): number
  /** May write less than it was given, as write(2) may. */
  write(fd: number, source: Uint8Array, position: number): number
  /** fdatasync: the bytes and what is needed to read them back. One hop through the thread pool. */
  sync(fd: number, done: (error: Error | null) => void): void
  /** The same, blocking: for what happens once an hour. */
  syncNow(fd: number): void
  size(fd: number): number
  /** When the file was last written to, as the file system says. */
  changedAt(fd: number): number
  truncate(fd: number, bytes: number): void

  /** Null where there is no such file. */
  readFile(file: string): Buffer | null
  /** Names inside, sorted; none for a directory that is not there. */
  list(directory: string): string[]
  /** Its name survives a crash, and those of all that was missing above it. */
  makeDirectory(directory: string): void
  rename(from: string, to: string): void
  /** That it is gone already is fine. */
  remove(file: string): void
  /** Makes names durable: a new, renamed or removed file. */
  syncDirectory(directory: string): void
}

const FLAGS = { read: 'r', write: fs.constants.O_RDWR | fs.constants.O_CREAT, new: 'wx+' } as const

export const systemDisk: Disk = {
  open: (file, how) => fs.openSync(file, FLAGS[how], 0o600),
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
  changedAt: (fd) => fs.fstatSync(fd).mtimeMs,
  truncate: (fd, bytes) => fs.ftruncateSync(fd, bytes),

  readFile(file) {
    try {
      return fs.readFileSync(file)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null
      throw error
    }
  },
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

/** Writes everything, however short the single writes are. */
export function writeFully(disk: Disk, fd: number, source: Uint8Array, position: number): void {
  let written = 0
  while (written < source.length) {
    const bytes = disk.write(fd, written === 0 ? source : source.subarray(written), position + written)
    if (bytes === 0) throw Object.assign(new Error('the disk took no bytes'), { code: 'EIO' })
    written += bytes
  }
}

/** A reader sees the old file or the new one, also after a crash: written aside, synced, renamed. */
export function replaceFile(disk: Disk, file: string, chunks: readonly Uint8Array[]): void {
  disk.rename(writeAside(disk, file, chunks), file)
  disk.syncDirectory(path.dirname(file))
}

/** Answers the name of what is synced and need only be renamed. */
export function writeAside(disk: Disk, file: string, chunks: readonly Uint8Array[]): string {
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
