/**
 * Replays the journal into the index. Only the end of the last segment may be torn: it is cut off, kept in
 * a file next to the segment and reported. A bad line anywhere else is damage, and the open fails.
 */
import path from 'node:path'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { replaceFile, writeFully, type Disk } from '../journal/disk.ts'
import {
  FORMAT_VERSION,
  parseEntry,
  type Entry,
  type SegmentEntry,
  type SignalHead,
} from '../journal/journal-entries.ts'
import type { JournalEnd } from '../journal/journal.ts'
import type { IdempotencyIndex } from './index/idempotency-index.ts'
import type { Location } from './index/signal-rows.ts'
import { LineScanner, wasSynced, type BadLine } from '../journal/segment-scan.ts'
import { damagedError, listSegments, sealedAt, sortSegments, type SegmentFile } from '../journal/segments.ts'
import { createHeaderReader, isSignalLine } from './signal-line-header.ts'
import type { SignalIndex } from './index/signal-index.ts'
import { packUlid } from '../journal/ulid-words.ts'

/** A torn tail that an open has cut off; logged. */
export interface CutNotice {
  file: string
  offset: number
  bytes: number
  /** File that now contains the bytes. */
  kept_in: string
  reason: string
}

export interface Recovery {
  disk: Disk
  directory: string
  index: SignalIndex
  keys: IdempotencyIndex
  /** Returns how many bytes of the segment are known to be synced. A bad line within them is damage, not a torn write. */
  syncedBytes: (segment: number, head: SegmentEntry | null) => number
  onCut: (notice: CutNotice) => void
}

/** Removes leftovers of an interrupted compaction and returns the segments. Throws `store_damaged` for a broken chain. */
export function checkedSegments(disk: Disk, directory: string): SegmentFile[] {
  for (const name of disk.list(directory)) {
    if (name.endsWith('.new')) disk.remove(path.join(directory, name))
  }
  const all = listSegments(disk, directory)
  for (const { file, head } of all) if (head !== null) checkVersion(file, head)
  const { live, obsolete } = sortSegments(all)
  for (const { file } of obsolete) disk.remove(file)
  checkChain(live)
  return live
}

/** Checks that each segment follows the previous one. @throws `store_damaged` */
export function checkChain(segments: readonly SegmentFile[]): void {
  for (const [place, { file, head, segment }] of segments.entries()) {
    const last = place === segments.length - 1
    if (head === null) {
      if (!last)
        throw damagedError(file, {
          offset: 0,
          reason: 'the first line, which describes the file, is damaged',
        })
      continue
    }
    const before = segments[place - 1]?.segment ?? 0
    if (head.segment !== segment || (head.follows?.segment ?? 0) !== before) {
      const expected = head.follows?.segment ?? 0
      throw damagedError(file, {
        offset: 0,
        reason: `this segment follows segment ${expected}, but the previous segment here is ${before}`,
      })
    }
  }
}

export function checkVersion(file: string, { version }: SegmentEntry): void {
  if (version === FORMAT_VERSION) return
  throw new TurnbellError('store_damaged', {
    detail: `${file} at byte 0: format ${version}, but this version reads ${FORMAT_VERSION}`,
    hint: 'Start the turnbell version that wrote it.',
  })
}

/** Applies everything after `from` and returns the end of the journal. */
export function replayJournal(
  recovery: Recovery,
  segments: readonly SegmentFile[],
  from: JournalEnd,
): JournalEnd {
  const replay = new Replay(recovery)
  let end: JournalEnd = { segment: 0, bytes: 0 }
  for (const [place, segment] of segments.entries()) {
    const next = segments[place + 1]
    const start = segment.segment < from.segment ? null : segment.segment === from.segment ? from.bytes : 0
    // Compaction syncs a file before renaming it, so none of its lines can be torn.
    if (next !== undefined || (segment.head !== null && segment.head.revision > 0)) {
      const bytes = sealedBytes(recovery, segment, next?.head ?? null)
      if (start !== null) replay.sealed(segment, start, bytes)
      end = { segment: segment.segment, bytes }
    } else {
      end = replay.last(segment, start ?? segment.bytes) ?? end
    }
  }
  return end
}

/** Verifies the lines of one segment up to a position. @throws `store_damaged` */
export function checkLines(disk: Disk, segments: readonly SegmentFile[], before: JournalEnd): void {
  const segment = segments.find((one) => one.segment === before.segment)
  if (segment === undefined) return
  const fd = disk.open(segment.file, 'read')
  try {
    const bad = new LineScanner(disk).scan(fd, 0, before.bytes, () => {})
    if (bad !== null) throw damagedError(segment.file, bad)
  } finally {
    disk.close(fd)
  }
}

/** Returns the valid length of a sealed segment and cuts off what a former owner appended after the takeover. */
function sealedBytes(recovery: Recovery, segment: SegmentFile, next: SegmentEntry | null): number {
  const { bytes } = segment
  const sealed = sealedAt(segment, next)
  if (sealed === null) return bytes
  if (bytes > sealed) {
    cutTail(recovery, segment, sealed, 'written by a former owner after another hub had taken the journal')
  }
  return sealed
}

class Replay {
  private readonly recovery: Recovery
  private readonly scanner: LineScanner
  private readonly readHeader = createHeaderReader()
  /** Lines of an all-or-nothing group whose last line was not read yet. */
  private group: { head: SignalHead; at: Location }[] = []
  private segment = 0
  /** Offset of the last commit line read; everything before it was synced. */
  private last_commit = 0

  constructor(recovery: Recovery) {
    this.recovery = recovery
    this.scanner = new LineScanner(recovery.disk)
  }

  sealed(segment: SegmentFile, from: number, to: number): void {
    const { disk } = this.recovery
    const fd = disk.open(segment.file, 'read')
    try {
      const bad = this.scan(fd, segment, from, to)
      if (bad !== null) throw damagedError(segment.file, bad)
      this.storeGroup()
    } finally {
      disk.close(fd)
    }
  }

  /** Replays the last segment. Returns null if nothing of the file is left. */
  last(segment: SegmentFile, from: number): JournalEnd | null {
    const { disk } = this.recovery
    if (segment.bytes === 0) return this.remove(segment)
    let torn: BadLine | null
    const fd = disk.open(segment.file, 'read')
    try {
      const bad = this.scan(fd, segment, from, segment.bytes)
      // A first line with a valid checksum is not a torn write; if it does not describe the file, the file is damaged.
      if (segment.head === null && (bad?.offset !== 0 || bad.checksum_valid)) {
        throw damagedError(segment.file, { offset: 0, reason: 'the first line does not describe the file' })
      }
      const synced = this.recovery.syncedBytes(segment.segment, segment.head)
      if (bad !== null && (bad.offset < synced || wasSynced(disk, fd, bad.offset, segment.bytes))) {
        throw damagedError(segment.file, bad)
      }
      const [first] = this.group
      torn =
        first === undefined ? bad : { offset: first.at.offset, reason: 'a group of signals is incomplete' }
    } finally {
      disk.close(fd)
    }
    if (torn !== null) cutTail(this.recovery, segment, torn.offset, torn.reason)
    const bytes = torn?.offset ?? segment.bytes
    if (bytes === 0) return this.remove(segment)
    rewriteUnproven(disk, segment, this.last_commit, bytes)
    return { segment: segment.segment, bytes }
  }

  /** Removes a segment whose writer crashed before the first line was complete. */
  private remove(segment: SegmentFile): null {
    const { disk, directory } = this.recovery
    disk.remove(segment.file)
    disk.syncDirectory(directory)
    return null
  }

  private scan(fd: number, segment: SegmentFile, from: number, to: number): BadLine | null {
    this.segment = segment.segment
    this.group = []
    this.last_commit = from
    return this.scanner.scan(fd, from, to, (buffer, start, end, offset) => {
      const length = end - start
      if (isSignalLine(buffer, start)) this.signal(this.readHeader(buffer, start, end), offset, length)
      else this.entry(parseEntry(buffer.toString('utf8', start, end)), offset, length)
    })
  }

  private signal(head: SignalHead, offset: number, length: number): void {
    if (head.left === 0 && this.group.length === 0) {
      this.store(head, this.segment, offset, length)
      return
    }
    this.group.push({
      head: { ...head, id: head.id.slice() },
      at: { segment: this.segment, offset, length },
    })
    if (head.left === 0) this.storeGroup()
  }

  private storeGroup(): void {
    if (this.group.length === 0) return
    for (const { head, at } of this.group) this.store(head, at.segment, at.offset, at.length)
    this.group = []
  }

  private store(head: SignalHead, segment: number, offset: number, length: number): void {
    const { index, keys } = this.recovery
    const row = index.addSignal(head, segment, offset, length)
    const { from, idempotency_key: key } = head
    if (key !== undefined) keys.set(row, from, key, keys.find(from, key))
  }

  private entry(entry: Entry, offset: number, length: number): void {
    const { index } = this.recovery
    // Compaction may have removed the rest of a group.
    this.storeGroup()
    switch (entry.kind) {
      case 'commit':
        this.last_commit = offset
        return
      case 'closed':
        // It was written together with the commit line before it, and proves nothing beyond that.
        return
      case 'segment': {
        const id = new Uint32Array(4)
        if (entry.last_signal_id !== null) packUlid(entry.last_signal_id, id)
        return index.raiseLast(entry.last_seq, id)
      }
      default:
        index.apply(entry, { segment: this.segment, offset, length })
    }
  }
}

/**
 * Rewrites and syncs bytes that a killed writer may have left only in the page cache. They must be durable before the store
 * reports them and before the next segment's first line refers to them. A sync alone is not enough: after a failed sync the
 * system may consider the pages clean.
 */
function rewriteUnproven(disk: Disk, { file }: SegmentFile, from: number, to: number): void {
  const fd = disk.open(file, 'write')
  try {
    const bytes = Buffer.allocUnsafe(to - from)
    writeFully(disk, fd, bytes.subarray(0, disk.read(fd, bytes, from)), from)
    disk.syncNow(fd)
  } finally {
    disk.close(fd)
  }
}

/** Moves everything from `offset` on to another file next to the segment. */
function cutTail(
  { disk, directory, onCut }: Recovery,
  segment: SegmentFile,
  offset: number,
  reason: string,
): void {
  const { file } = segment
  const fd = disk.open(file, 'write')
  try {
    const bytes = disk.size(fd) - offset
    const rest = Buffer.allocUnsafe(bytes)
    disk.read(fd, rest, offset)
    const kept_in = freeName(disk, directory, `${file}.torn-${offset}`)
    if (bytes > 0) replaceFile(disk, kept_in, [rest])
    disk.truncate(fd, offset)
    disk.syncNow(fd)
    if (bytes > 0) onCut({ file, offset, bytes, kept_in, reason })
  } finally {
    disk.close(fd)
  }
}

/** Returns the preferred path, or the first free one with a numeric suffix. */
export function freeName(disk: Disk, directory: string, preferred: string): string {
  const existing = new Set(disk.list(directory))
  let name = preferred
  for (let count = 2; existing.has(path.basename(name)); count += 1) name = `${preferred}-${count}`
  return name
}
