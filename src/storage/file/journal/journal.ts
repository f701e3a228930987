/**
 * The writing end of the journal, with group commit. All lines queued in one tick of the event loop share
 * one write and one fdatasync; their callers are notified only after that. During a sync the next
 * batch gathers.
 *
 * After a failed write or sync the journal accepts no more writes until it is reopened, because the content
 * of the page cache after a failed fsync is unknown. Unsynced bytes are cut off if the disk
 * allows it; otherwise the next open recognises them.
 */
import path from 'node:path'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { Clock } from '../../../ports/clock.ts'
import { codeOf, writeFully, type Disk } from './disk.ts'
import { entryText, FORMAT_VERSION, type SegmentEntry } from './journal-entries.ts'
import type { Epoch } from './fencing-epoch.ts'
import { sealLine, SEAL_BYTES } from './sealed-line.ts'
import type { LineReader } from './line-reader.ts'
import { toStoreError } from './disk-errors.ts'
import type { Location } from '../signals/index/signal-rows.ts'
import { segmentFile } from './segments.ts'

export interface JournalOptions {
  disk: Disk
  directory: string
  clock: Pick<Clock, 'soon'>
  epoch: Epoch
  lines: LineReader
  segment_bytes_max: number
  commit_bytes_max: number
  /** Returns the last assigned seq and id for the first line of a new segment. */
  last: () => LastAssigned
  /** Called before a batch is written; it may still add lines to the batch. */
  beforeCommit: () => void
  /** Called when writing ends, and a second time if a disk error was the reason and another hub takes the journal later. */
  onDead: (error: TurnbellError) => void
  /** Called when this many more bytes are durable. */
  onSynced: (bytes: number) => void
  /** Called when the first batch of a new segment is durable. `last` is the content of its first line. */
  onSegment: (last: LastAssigned) => void
}

/** The highest seq and id assigned so far. */
export type LastAssigned = Pick<SegmentEntry, 'last_seq' | 'last_signal_id'>

/** End position of a journal; segment 0 is the position before the first segment. */
export interface JournalEnd {
  segment: number
  bytes: number
}

interface Batch {
  segment: number
  /** Offset of the batch in its segment. */
  start: number
  buffer: Buffer
  length: number
  /** Content of the first line of a new segment; null if the batch does not begin a segment. */
  last: LastAssigned | null
  done: Promise<void>
  resolve(): void
  reject(error: TurnbellError): void
}

const BUFFER_BYTES = 64 * 1024
const BUFFER_KEPT_BYTES = 1024 * 1024
/** A UTF-16 unit takes at most three bytes of UTF-8. */
const UTF8_BYTES_MAX = 3

export class Journal {
  private readonly options: JournalOptions
  /** Position of the next line, whether or not earlier lines are written. */
  private end: JournalEnd
  /** Everything before this position survives a crash. */
  private durable: JournalEnd
  private fd: number | null = null
  private fd_segment = 0
  private gathering: Batch | null = null
  /** Full batches, in order, that wait for the one being written. */
  private readonly full: Batch[] = []
  private underway: Batch | null = null
  private syncing = false
  private closing = false
  private scheduled = false
  private spare: Buffer | null = null
  /** The error that ended writing; null while writing is possible. */
  private dead: TurnbellError | null = null
  /** Set by `close`: accepts no more lines, but still writes the queued ones. */
  private closed: TurnbellError | null = null

  constructor(options: JournalOptions, end: JournalEnd) {
    this.options = options
    this.end = end
    this.durable = end
  }

  get durableEnd(): JournalEnd {
    return this.durable
  }

  /** Position of the next line, whether or not earlier lines are synced. */
  get logicalEnd(): JournalEnd {
    return this.end
  }

  /**
   * Call before adding a group of lines; they share one segment and one commit. Throws if the journal
   * accepts no more writes.
   */
  begin(): void {
    this.checkAlive()
    const { segment_bytes_max, commit_bytes_max } = this.options
    const startBatch = this.gathering
    if (startBatch !== null && startBatch.length < commit_bytes_max && this.end.bytes < segment_bytes_max)
      return
    if (startBatch !== null) this.full.push(startBatch)
    const first = this.fd === null && startBatch === null && this.full.length === 0 && this.underway === null
    const fresh = first || this.end.bytes >= segment_bytes_max
    this.gathering = fresh ? this.startSegment() : this.startBatch()
    this.schedule()
  }

  get writeError(): TurnbellError | null {
    return this.dead ?? this.closed
  }

  /** Throws if the journal accepts no more writes. */
  checkAlive(): void {
    const { writeError } = this
    if (writeError !== null) throw writeError
  }

  /** Seals one line into the batch prepared by `begin`. `text` is the line's JSON without its `}`. */
  add(text: string): Location {
    const batch = this.gathering as Batch
    const room = text.length * UTF8_BYTES_MAX + SEAL_BYTES
    if (batch.length + room > batch.buffer.length) this.grow(batch, room)
    const start = batch.length
    const bytes = batch.buffer.write(text, start)
    batch.length = sealLine(batch.buffer, start, start + bytes)
    const offset = batch.start + start
    this.end = { segment: batch.segment, bytes: batch.start + batch.length }
    return { segment: batch.segment, offset, length: batch.length - start - 1 }
  }

  /** Settles when all lines added before this call are durable or have failed. */
  committed(): Promise<void> {
    if (this.dead !== null) return Promise.reject(this.dead)
    const last = this.gathering ?? this.full.at(-1) ?? this.underway
    return last === null ? NOTHING_TO_WAIT_FOR : last.done
  }

  /**
   * Returns the line's bytes, from memory while they are not written yet. Throws `store_damaged` if the file
   * contains other bytes.
   */
  readLine({ segment, offset, length }: Location): Buffer {
    const batch = this.batchAt(segment, offset)
    if (batch !== null) {
      const start = offset - batch.start
      return Buffer.from(batch.buffer.subarray(start, start + length))
    }
    return this.options.lines.read({ segment, offset, length })
  }

  /**
   * Accepts no more lines, writes the queued ones, marks the segment as complete and closes the file. Returns
   * false if that failed: the waiting callers were rejected, and the next open finds out what was written.
   */
  async close(): Promise<boolean> {
    const alive = this.dead === null
    try {
      if (alive) {
        this.options.beforeCommit()
        this.closed = new TurnbellError('store_unavailable', { detail: 'The store is closed.' })
        await this.committed()
        if (this.fd !== null) await this.writeClosedLine()
      }
      return alive
    } catch {
      return false
    } finally {
      this.dead ??= this.closed
      this.closing = true
      this.closeFile()
    }
  }

  /** Written in a commit of its own, because the line declares that everything before that commit is synced. */
  private writeClosedLine(): Promise<void> {
    this.startBatch()
    this.add(entryText({ kind: 'closed', at: this.end.bytes }))
    this.schedule()
    return this.committed()
  }

  private startBatch(): Batch {
    const batch = newBatch(this.end.segment, this.end.bytes, this.takeBuffer(), null)
    this.gathering = batch
    this.add(entryText({ kind: 'commit', at: this.end.bytes }))
    return batch
  }

  private startSegment(): Batch {
    const follows = this.end.segment === 0 ? null : this.end
    const segment = this.end.segment + 1
    const last = this.options.last()
    const batch = newBatch(segment, 0, this.takeBuffer(), last)
    this.gathering = batch
    this.add(
      entryText({
        kind: 'segment',
        version: FORMAT_VERSION,
        segment,
        first: segment,
        revision: 0,
        epoch: this.options.epoch.number,
        follows,
        ...last,
      }),
    )
    return batch
  }

  private schedule(): void {
    if (this.scheduled || this.underway !== null) return
    this.scheduled = true
    this.options.clock.soon(() => {
      this.scheduled = false
      this.commit()
    })
  }

  private commit(): void {
    if (this.dead !== null || this.underway !== null) return
    const { disk, epoch, beforeCommit } = this.options
    beforeCommit()
    const batch = this.full.shift() ?? this.gathering
    if (batch === null) return
    if (batch === this.gathering) this.gathering = null
    this.underway = batch
    try {
      epoch.check()
      if (batch.start > 0) this.checkIntact(batch.start)
      const fd = batch.start === 0 ? this.openSegment(batch.segment) : (this.fd as number)
      writeFully(disk, fd, batch.buffer.subarray(0, batch.length), batch.start)
      this.syncing = true
      disk.sync(fd, (error) => {
        this.syncing = false
        const failure = error ?? this.ownershipError()
        if (failure === null) this.synced(batch)
        else this.die(failure)
        this.closeFile()
      })
    } catch (error) {
      this.die(error)
    }
  }

  /**
   * Checks ownership and files again before callers are notified: a hub that took the journal during the sync may have
   * read it before these bytes were written. A hub that takes it after this check reads them.
   */
  private ownershipError(): unknown {
    try {
      this.options.epoch.check()
      // After a write error `cutUnsynced` may have removed the file.
      if (this.dead === null) this.checkIntact(this.expectedBytes())
      return null
    } catch (error) {
      return error
    }
  }

  /** Returns the minimum length of the file being written to. */
  private expectedBytes(): number {
    const { underway, durable, fd_segment } = this
    if (underway?.segment === fd_segment) return underway.start + underway.length
    return durable.segment === fd_segment ? durable.bytes : 0
  }

  /** Throws if the segment file was removed, replaced or truncated: bytes synced into it would be lost at the next start. */
  private checkIntact(bytes_min: number): void {
    const { disk, directory } = this.options
    const segment = this.fd === null ? this.durable.segment : this.fd_segment
    if (segment === 0) return
    const file = segmentFile(directory, segment)
    const is_there =
      this.fd === null
        ? disk.list(directory).includes(path.basename(file))
        : disk.leadsTo(file, this.fd) && disk.size(this.fd) >= bytes_min
    if (is_there) return
    throw new TurnbellError('store_damaged', {
      detail: `${file} was removed, replaced or truncated while the hub was running`,
      hint: 'Restore the file unchanged, and the hub continues by itself. Or run `turnbell down`, then `turnbell hub --repair`, to continue without it.',
    })
  }

  /** Returns whether the files are unchanged. Only meaningful while no other hub owns the journal. */
  filesAreIntact(): boolean {
    try {
      this.options.epoch.check()
      this.checkIntact(0)
      return this.dead?.code !== 'store_damaged'
    } catch {
      return false
    }
  }

  /** Stops writing if the files are gone or owned by another hub. Other errors of the check are ignored. */
  checkFiles(): void {
    if (this.writeError !== null) return
    const error = this.ownershipError()
    if (error instanceof TurnbellError) this.die(error)
  }

  private synced(batch: Batch): void {
    if (this.dead !== null) return
    this.durable = { segment: batch.segment, bytes: batch.start + batch.length }
    this.underway = null
    if (batch.buffer.length <= BUFFER_KEPT_BYTES) this.spare = batch.buffer
    if (batch.last !== null) this.options.onSegment(batch.last)
    batch.resolve()
    this.options.onSynced(batch.length)
    // Deferred, so that callers notified now can add lines to the next sync.
    if (this.gathering !== null || this.full.length > 0) this.schedule()
  }

  /** Does nothing during a sync, because the number of a closed file descriptor may be reused. */
  private closeFile(): void {
    if (!this.closing || this.syncing || this.fd === null) return
    this.options.disk.close(this.fd)
    this.fd = null
  }

  private openSegment(segment: number): number {
    const { disk, directory } = this.options
    if (this.fd !== null) disk.close(this.fd)
    this.fd = null
    const file = segmentFile(directory, segment)
    try {
      this.fd = disk.open(file, 'new')
    } catch (cause) {
      if (codeOf(cause) !== 'EEXIST') throw cause
      throw new TurnbellError('store_fenced', {
        detail: `${file} already exists: another hub writes to this journal`,
        cause,
      })
    }
    this.fd_segment = segment
    disk.syncDirectory(directory)
    return this.fd
  }

  /** Throws `store_fenced` or `store_damaged`, which also stop writing; `store_unavailable` if ownership cannot be determined. */
  checkOwned(): void {
    if (this.dead?.code === 'store_fenced') throw this.dead
    const cause = this.ownershipError()
    if (cause === null) return
    const error = toStoreError(
      cause,
      `the owner of the journal in ${this.options.directory} cannot be determined`,
    )
    if (error.code !== 'store_unavailable') this.die(cause)
    throw error
  }

  /**
   * Stops writing for good and rejects all waiting callers. A `store_fenced` cause leaves the files unchanged, because
   * another hub owns them. It also replaces an earlier disk error, unless the journal is closed.
   */
  die(cause: unknown): void {
    const error = toStoreError(cause, `the journal in ${this.options.directory} cannot be written`)
    const is_fenced = error.code === 'store_fenced'
    if (this.dead !== null && (this.closing || !is_fenced || this.dead.code === 'store_fenced')) return
    this.dead = error
    if (!is_fenced) this.cutUnsynced()
    const waiting = [this.underway, ...this.full, this.gathering]
    this.options.onDead(error)
    for (const batch of waiting) batch?.reject(error)
  }

  /**
   * Removes unsynced bytes, because their senders received an error. Does nothing if another hub has taken
   * the journal, because that hub may have accepted these bytes.
   */
  private cutUnsynced(): void {
    const { disk, directory, epoch } = this.options
    try {
      if (this.fd === null) return
      epoch.check()
      this.checkIntact(this.fd_segment === this.durable.segment ? this.durable.bytes : 0)
      if (this.fd_segment === this.durable.segment) disk.truncate(this.fd, this.durable.bytes)
      else disk.remove(segmentFile(directory, this.fd_segment))
    } catch {
      // The disk is failing; the next open handles the remaining bytes.
    }
  }

  private batchAt(segment: number, offset: number): Batch | null {
    const holds = (batch: Batch | null) =>
      batch !== null &&
      batch.segment === segment &&
      offset >= batch.start &&
      offset < batch.start + batch.length
    if (holds(this.gathering)) return this.gathering
    if (holds(this.underway)) return this.underway
    return this.full.find(holds) ?? null
  }

  private takeBuffer(): Buffer {
    const buffer = this.spare ?? Buffer.allocUnsafeSlow(BUFFER_BYTES)
    this.spare = null
    return buffer
  }

  private grow(batch: Batch, room: number): void {
    let bytes = batch.buffer.length
    while (bytes < batch.length + room) bytes *= 2
    const buffer = Buffer.allocUnsafeSlow(bytes)
    batch.buffer.copy(buffer, 0, 0, batch.length)
    batch.buffer = buffer
  }
}

const NOTHING_TO_WAIT_FOR = Promise.resolve()

function newBatch(segment: number, start: number, buffer: Buffer, last: LastAssigned | null): Batch {
  const { promise, resolve, reject } = promiseOf()
  // Stage marks do not wait for their commit, so a rejection may have no other handler.
  promise.catch(() => {})
  return { segment, start, buffer, length: 0, last, done: promise, resolve, reject }
}

function promiseOf() {
  let resolve!: () => void
  let reject!: (error: TurnbellError) => void
  const promise = new Promise<void>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
