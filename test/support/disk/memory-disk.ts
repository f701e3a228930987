/**
 * An in-memory disk that can count operations, fail and crash. It separates written from synced data: a killed process
 * leaves all written data, a power cut leaves the synced data and a part of the rest chosen by the test.
 */
import path from 'node:path'
import type { Disk } from '../../../src/storage/file/journal/disk.ts'

interface File {
  bytes: Buffer
  changed_at: number
  /** Contents that survive a power cut. */
  synced: Buffer
  /** Later changes, in order. */
  unsynced: Change[]
}

/** Directory entries that were removed, and one that was added. */
interface NameChange {
  gone: string | null
  made: { name: string; file: File } | null
}

type Change = { position: number; bytes: Buffer } | { truncated_to: number }

export type Operation =
  | 'open'
  | 'read'
  | 'write'
  | 'sync'
  | 'truncate'
  | 'readFile'
  | 'list'
  | 'makeDirectory'
  | 'rename'
  | 'remove'
  | 'syncDirectory'

/** Chooses a number from 0 to `max`, both included. */
export type Choose = (max: number) => number

function hasLine(bytes: Buffer, begin: string, word: string): boolean {
  for (let at = bytes.length; at > 0;) {
    at = bytes.lastIndexOf(word, at - 1)
    if (at < 0) return false
    const start = bytes.lastIndexOf('\n', at) + 1
    if (bytes.subarray(start, at).includes(begin)) return true
    at = start
  }
  return false
}

export class MemoryDisk implements Disk {
  files: Map<string, File>
  /** Directory entries that survive a power cut, and the changes after them. */
  private durableNames: Map<string, File>
  private nameChanges: NameChange[] = []
  private readonly open_files = new Map<number, { name: string; file: File }>()
  private next_fd = 100
  readonly counts: Partial<Record<Operation, number>> = {}
  /** Returns the error with which an operation fails, or null. */
  fault: (operation: Operation, name: string) => Error | null = () => null
  onRead: (name: string, bytes: number) => void = () => {}
  /** Maximum number of bytes of one write. */
  write_bytes_max = Infinity
  /** Finishes a sync in a later tick of the event loop. */
  later: (finish: () => void) => void = (finish) => void setImmediate(finish)
  /**
   * Whether a failed sync loses its data: it can still be read, but no later sync makes it durable. Linux marks pages
   * clean after a failed write-back.
   */
  failed_sync_loses = false
  /** While set, syncs are collected here instead of finishing. */
  held: (() => void)[] | null = null

  constructor(files = new Map<string, File>()) {
    this.files = files
    this.durableNames = new Map(files)
  }

  /**
   * Returns the disk as the next process finds it after this one was killed: all written data, synced or not. Later
   * operations of this process do not affect it.
   */
  afterKill(): MemoryDisk {
    const copies = new Map<File, File>()
    const copyOf = (file: File): File => {
      const { bytes, changed_at, synced, unsynced } = file
      const copy = copies.get(file) ?? { bytes, changed_at, synced, unsynced: [...unsynced] }
      copies.set(file, copy)
      return copy
    }
    const copied = (names: Map<string, File>) =>
      new Map([...names].map(([name, file]) => [name, copyOf(file)]))
    const disk = new MemoryDisk(copied(this.files))
    disk.durableNames = copied(this.durableNames)
    disk.nameChanges = this.nameChanges.map(({ gone, made }) => ({
      gone,
      made: made === null ? null : { name: made.name, file: copyOf(made.file) },
    }))
    return disk
  }

  /** Returns the disk after a power cut: the test chooses the surviving part of the unsynced data. */
  afterPowerCut(choose: Choose): MemoryDisk {
    const names = new Map(this.durableNames)
    // A file system's own journal preserves the order of directory changes.
    for (const change of this.nameChanges.slice(0, choose(this.nameChanges.length))) applyTo(names, change)
    const contents = new Map<File, File>()
    const survivor = (file: File) => {
      let left = contents.get(file)
      if (left === undefined)
        contents.set(file, (left = stillFile(tornContent(file, choose), file.changed_at)))
      return left
    }
    return new MemoryDisk(new Map([...names].map(([name, file]) => [name, survivor(file)] as const)))
  }

  /** Finishes the syncs that were held. */
  releaseSyncs(): void {
    const held = this.held ?? []
    this.held = null
    for (const finish of held) finish()
  }

  /** Returns whether a line below this directory that contains both texts would survive a power cut. */
  keepsLine(directory: string, begin: string, word: string): boolean {
    // Callers usually have just written the line, so the newest files are searched first.
    return [...this.durableNames]
      .reverse()
      .some(([name, file]) => name.startsWith(directory) && hasLine(file.synced, begin, word))
  }

  names(): string[] {
    return [...this.files.keys()].sort()
  }

  content(name: string): Buffer {
    const file = this.files.get(name)
    if (file === undefined) throw new Error(`no file ${name}`)
    return Buffer.from(file.bytes)
  }

  /** Puts durable bytes into a file. */
  put(name: string, bytes: Uint8Array): void {
    this.files.set(name, stillFile(Buffer.from(bytes)))
    this.durableNames.set(name, this.files.get(name) as File)
  }

  open(name: string, how: 'read' | 'write' | 'new'): number {
    this.count('open', name)
    let file = this.files.get(name)
    if (file === undefined && how === 'read') throw systemError('ENOENT', name)
    if (file !== undefined && how === 'new') throw systemError('EEXIST', name)
    if (file === undefined) {
      const made = stillFile(Buffer.alloc(0))
      file = made
      this.changeNames({ gone: null, made: { name, file: made } })
    }
    const fd = this.next_fd++
    this.open_files.set(fd, { name, file })
    return fd
  }

  close(fd: number): void {
    this.opened(fd)
    this.open_files.delete(fd)
  }

  read(fd: number, target: Uint8Array, position: number): number {
    const { name, file } = this.opened(fd)
    this.count('read', name)
    const bytes = file.bytes.subarray(position, position + target.length)
    target.set(bytes)
    this.onRead(name, bytes.length)
    return bytes.length
  }

  write(fd: number, source: Uint8Array, position: number): number {
    const { name, file } = this.opened(fd)
    const bytes = Buffer.from(source.subarray(0, this.write_bytes_max))
    this.count('write', name)
    change(file, { position, bytes })
    return bytes.length
  }

  sync(fd: number, done: (error: Error | null) => void): void {
    const { name, file } = this.opened(fd)
    const own = new Set(file.unsynced)
    // Other syncs may have finished, and more data been written.
    const upTo = () => file.unsynced.findLastIndex((change) => own.has(change)) + 1
    const finish = () => {
      try {
        this.count('sync', name)
      } catch (error) {
        if (this.failed_sync_loses) file.unsynced.splice(0, upTo())
        return done(error as Error)
      }
      settle(file, upTo())
      done(null)
    }
    if (this.held !== null) this.held.push(finish)
    else this.later(finish)
  }

  syncNow(fd: number): void {
    const { name, file } = this.opened(fd)
    try {
      this.count('sync', name)
    } catch (error) {
      if (this.failed_sync_loses) file.unsynced.splice(0)
      throw error
    }
    settle(file, file.unsynced.length)
  }

  size(fd: number): number {
    return this.opened(fd).file.bytes.length
  }

  leadsTo(name: string, fd: number): boolean {
    return this.files.get(name) === this.opened(fd).file
  }

  changedAt(fd: number): number {
    return this.opened(fd).file.changed_at
  }

  truncate(fd: number, bytes: number): void {
    const { name, file } = this.opened(fd)
    this.count('truncate', name)
    change(file, { truncated_to: bytes })
  }

  readFile(name: string): Buffer | null {
    this.count('readFile', name)
    const file = this.files.get(name)
    return file === undefined ? null : Buffer.from(file.bytes)
  }

  isPlain(): boolean {
    return true
  }

  list(directory: string): string[] {
    this.count('list', directory)
    return [...this.files.keys()]
      .filter((name) => path.dirname(name) === directory)
      .map((name) => path.basename(name))
      .sort()
  }

  makeDirectory(directory: string): void {
    this.count('makeDirectory', directory)
  }

  rename(from: string, to: string): void {
    this.count('rename', from)
    const file = this.files.get(from)
    if (file === undefined) throw systemError('ENOENT', from)
    this.changeNames({ gone: from, made: { name: to, file } })
  }

  remove(name: string): void {
    this.count('remove', name)
    if (this.files.has(name)) this.changeNames({ gone: name, made: null })
  }

  /** Syncs only this directory; changes in others wait for their own sync. */
  syncDirectory(directory: string): void {
    this.count('syncDirectory', directory)
    const left: NameChange[] = []
    for (const change of this.nameChanges.splice(0)) {
      if (path.dirname(change.made?.name ?? change.gone ?? '') === directory)
        applyTo(this.durableNames, change)
      else left.push(change)
    }
    this.nameChanges = left
  }

  private changeNames(change: NameChange): void {
    applyTo(this.files, change)
    this.nameChanges.push(change)
  }

  private count(operation: Operation, name: string): void {
    this.counts[operation] = (this.counts[operation] ?? 0) + 1
    const error = this.fault(operation, name)
    if (error !== null) throw error
  }

  private opened(fd: number): { name: string; file: File } {
    const opened = this.open_files.get(fd)
    if (opened === undefined) throw systemError('EBADF', String(fd))
    return opened
  }
}

export function systemError(code: string, what = 'by order of the test'): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code })
}

function applyTo(names: Map<string, File>, { gone, made }: NameChange): void {
  if (gone !== null) names.delete(gone)
  if (made !== null) names.set(made.name, made.file)
}

let changes = 0

function stillFile(bytes: Buffer, changed_at = ++changes): File {
  return { bytes, changed_at, synced: bytes, unsynced: [] }
}

function change(file: File, what: Change): void {
  file.bytes = changed(file.bytes, what)
  file.unsynced.push(what)
  file.changed_at = ++changes
}

function changed(bytes: Buffer, what: Change): Buffer {
  if ('truncated_to' in what) {
    const kept = Buffer.alloc(what.truncated_to)
    bytes.copy(kept)
    return kept
  }
  const grown = Buffer.alloc(Math.max(bytes.length, what.position + what.bytes.length))
  bytes.copy(grown)
  what.bytes.copy(grown, what.position)
  return grown
}

function settle(file: File, count: number): void {
  for (const what of file.unsynced.splice(0, count)) file.synced = changed(file.synced, what)
}

/**
 * Each unsynced write arrives whole, partially, or not at all, independently of the others, because pages reach a disk
 * in any order. Missing parts of a grown file read as zeros.
 */
function tornContent(file: File, choose: Choose): Buffer {
  let bytes = file.synced
  for (const what of file.unsynced) {
    if ('truncated_to' in what) {
      if (choose(1) === 1) bytes = changed(bytes, what)
      continue
    }
    const arrived = choose(what.bytes.length)
    const from_the_end = choose(3) === 3
    const part = from_the_end
      ? what.bytes.subarray(what.bytes.length - arrived)
      : what.bytes.subarray(0, arrived)
    if (part.length === 0) continue
    const position = from_the_end ? what.position + what.bytes.length - arrived : what.position
    bytes = changed(bytes, { position, bytes: part })
  }
  return bytes
}
