/**
 * The writing end of the journal. Everything that is queued when the event loop comes round goes into one
 * write and one fdatasync; whoever waits is told only after that. While a sync is under way the next
 * batch gathers.
 *
 * A write or sync that fails is the end of it: what the page cache holds after a failed fsync is unknown,
 * so the journal is dead for writes until it is opened again. What was not synced is cut off if the disk
 * still lets us; if not, the next open recognises it.
 */
import { TurnbellError } from '../../contracts/errors.ts'
import type { Clock } from '../../ports/clock.ts'
import { codeOf, writeFully, type Disk } from './disk.ts'
import { entryText, FORMAT_VERSION, type SegmentEntry } from './entries.ts'
import type { Epoch } from './epoch.ts'
import { sealLine, SEAL_BYTES } from './line.ts'
import type { LineReader } from './line-reader.ts'
import { refusalOf } from './refusal.ts'
import type { Location } from './rows.ts'
import { segmentFile } from './segments.ts'

export interface JournalOptions {
  disk: Disk
  directory: string
  clock: Pick<Clock, 'soon'>
  epoch: Epoch
  lines: LineReader
  segment_bytes_max: number
  commit_bytes_max: number
  /** What the header of a new segment says about what came before it. */
  last: () => Pick<SegmentEntry, 'last_seq' | 'last_signal_id'>
  /** Called before a batch is written: the last chance to add to it. */
  beforeCommit: () => void
  /** Writing has ended. A second time where that was the disk's doing and another has taken the journal since. */
  onDead: (error: TurnbellError) => void
  /** So many bytes more are durable. */
  onSynced: (bytes: number) => void
}

/** Where a journal ends; segment 0 is the place before the first one. */
export interface JournalEnd {
  segment: number
  bytes: number
}

interface Batch {
  segment: number
  /** Where in the segment its first byte goes. */
  start: number
  buffer: Buffer
  length: number
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
  /** Where the next line goes, written or not. */
  private end: JournalEnd
  /** Everything before this place survives a crash. */
  private durable: JournalEnd
  private fd: number | null = null
  private fd_segment = 0
  private gathering: Batch | null = null
  /** Full batches, in order, that wait for the one under way. */
  private readonly full: Batch[] = []
  private underway: Batch | null = null
  private syncing = false
  private closing = false
  private scheduled = false
  private spare: Buffer | null = null
  /** Why nothing more can be written, once that is so. */
  private dead: TurnbellError | null = null
  /** Nothing more is taken, but what was taken is still being written. */
  private closed: TurnbellError | null = null

  constructor(options: JournalOptions, end: JournalEnd) {
    this.options = options
    this.end = end
    this.durable = end
  }

  get durableEnd(): JournalEnd {
    return this.durable
  }

  /** Where the next line goes, whether the ones before it are synced or not. */
  get logicalEnd(): JournalEnd {
    return this.end
  }

  /**
   * Call before the lines that belong together: they go into one segment and one commit. Throws once the
   * journal is dead.
   */
  begin(): void {
    this.checkAlive()
    const { segment_bytes_max, commit_bytes_max } = this.options
    const batch = this.gathering
    if (batch !== null && batch.length < commit_bytes_max && this.end.bytes < segment_bytes_max) return
    if (batch !== null) this.full.push(batch)
    const first = this.fd === null && batch === null && this.full.length === 0 && this.underway === null
    const fresh = first || this.end.bytes >= segment_bytes_max
    this.gathering = fresh ? this.batchInNewSegment() : this.batch()
    this.schedule()
  }

  get refusal(): TurnbellError | null {
    return this.dead ?? this.closed
  }

  /** Throws once the journal is dead. */
  checkAlive(): void {
    const refusal = this.dead ?? this.closed
    if (refusal !== null) throw refusal
  }

  /** Seals one line into the batch that `begin` has seen to. Takes the line's JSON without its `}`. */
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

  /** Settles with everything that was added before this call. */
  committed(): Promise<void> {
    if (this.dead !== null) return Promise.reject(this.dead)
    const last = this.gathering ?? this.full.at(-1) ?? this.underway
    return last === null ? NOTHING_TO_WAIT_FOR : last.done
  }

  /**
   * The line's bytes, from memory while they are on their way. Throws `store_damaged` when they are
   * not what was written.
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
   * Takes nothing more, writes what is queued, says that the segment is complete, and closes the file.
   * False when that did not succeed: whoever waited was told, and the next open finds out what is there.
   */
  async close(): Promise<boolean> {
    const alive = this.dead === null
    try {
      if (alive) {
        this.options.beforeCommit()
        this.closed = new TurnbellError('store_unavailable', { detail: 'The store is closed.' })
        await this.committed()
        if (this.fd !== null) await this.sayClosed()
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

  /** In a commit of its own, since it says that everything before that is synced. */
  private sayClosed(): Promise<void> {
    this.batch()
    this.add(entryText({ kind: 'closed', at: this.end.bytes }))
    this.schedule()
    return this.committed()
  }

  private batch(): Batch {
    const batch = newBatch(this.end.segment, this.end.bytes, this.takeBuffer())
    this.gathering = batch
    this.add(entryText({ kind: 'commit', at: this.end.bytes }))
    return batch
  }

  private batchInNewSegment(): Batch {
    const follows = this.end.segment === 0 ? null : this.end
    const segment = this.end.segment + 1
    const batch = newBatch(segment, 0, this.takeBuffer())
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
        ...this.options.last(),
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
      const fd = batch.start === 0 ? this.openSegment(batch.segment) : (this.fd as number)
      writeFully(disk, fd, batch.buffer.subarray(0, batch.length), batch.start)
      this.syncing = true
      disk.sync(fd, (error) => {
        this.syncing = false
        const failure = error ?? this.takenMeanwhile()
        if (failure === null) this.synced(batch)
        else this.die(failure)
        this.closeFile()
      })
    } catch (error) {
      this.die(error)
    }
  }

  /**
   * Looked at again before anybody is told: whoever took the journal during the sync may have read it
   * before these bytes were there. Whoever takes it from now on reads them.
   */
  private takenMeanwhile(): unknown {
    try {
      this.options.epoch.check()
      return null
    } catch (error) {
      return error
    }
  }

  private synced(batch: Batch): void {
    if (this.dead !== null) return
    this.durable = { segment: batch.segment, bytes: batch.start + batch.length }
    this.underway = null
    if (batch.buffer.length <= BUFFER_KEPT_BYTES) this.spare = batch.buffer
    batch.resolve()
    this.options.onSynced(batch.length)
    // Not at once: whoever was told now may have more, which then shares the next sync.
    if (this.gathering !== null || this.full.length > 0) this.schedule()
  }

  /** Not while a sync is under way: the number of a closed file may be given to another one. */
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
        detail: `${file} is there already: another hub writes here`,
        cause,
      })
    }
    this.fd_segment = segment
    disk.syncDirectory(directory)
    return this.fd
  }

  /** Throws `store_fenced` when another has the journal, which also ends writing; another refusal when nobody can tell. */
  checkOwned(): void {
    if (this.dead?.code === 'store_fenced') throw this.dead
    const taken = this.takenMeanwhile()
    if (taken === null) return
    const error = refusalOf(taken, `nobody can tell whose the journal in ${this.options.directory} is`)
    if (error.code === 'store_fenced') this.die(taken)
    throw error
  }

  /**
   * Ends writing for good. A `store_fenced` cause leaves the files as they are: they are another's. It is the last word,
   * also where the disk had ended writing before; of a journal that is closed nobody need hear it.
   */
  die(cause: unknown): void {
    const error = refusalOf(cause, `the journal in ${this.options.directory} cannot be written`)
    const taken = error.code === 'store_fenced'
    if (this.dead !== null && (this.closing || !taken || this.dead.code === 'store_fenced')) return
    this.dead = error
    if (!taken) this.cutUnsynced()
    const waiting = [this.underway, ...this.full, this.gathering]
    this.options.onDead(error)
    for (const batch of waiting) batch?.reject(error)
  }

  /**
   * A courtesy: the sender of what is cut here was told that it is not stored. Not where another has taken the journal,
   * whatever ended us: what it found here counts as kept by now.
   */
  private cutUnsynced(): void {
    const { disk, directory, epoch } = this.options
    try {
      if (this.fd === null) return
      epoch.check()
      if (this.fd_segment === this.durable.segment) disk.truncate(this.fd, this.durable.bytes)
      else disk.remove(segmentFile(directory, this.fd_segment))
    } catch {
      // The disk is failing; the next open deals with what it finds.
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

function newBatch(segment: number, start: number, buffer: Buffer): Batch {
  const { promise, resolve, reject } = promiseOf()
  // Nobody may be waiting for it: marks are kept lazily.
  promise.catch(() => {})
  return { segment, start, buffer, length: 0, done: promise, resolve, reject }
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
