/**
 * Brings the index to where the journal ends. Only the end of the last segment may be torn: it is cut
 * off, kept beside the file and reported. A bad line anywhere else is damage, and opening refuses.
 */
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'
import { replaceFile, writeFully, type Disk } from './disk.ts'
import { FORMAT_VERSION, parseEntry, type Entry, type SegmentEntry, type SignalHead } from './entries.ts'
import type { JournalEnd } from './journal.ts'
import type { KeyBook } from './key-book.ts'
import type { Location } from './rows.ts'
import { LineScanner, wasSynced, type BadLine } from './scan.ts'
import { damaged, listSegments, sealedAt, sortSegments, type SegmentFile } from './segments.ts'
import { createHeaderReader, isSignalLine } from './signal-header.ts'
import type { SignalIndex } from './signal-index.ts'
import { wordsOf } from './ulid-words.ts'

/** What was set aside at an open, for the log. */
export interface CutNotice {
  file: string
  offset: number
  bytes: number
  /** Where the bytes are now. */
  kept_in: string
  reason: string
}

export interface Recovery {
  disk: Disk
  directory: string
  index: SignalIndex
  keys: KeyBook
  onCut: (notice: CutNotice) => void
}

/** The segments of a journal that hangs together, leftovers of an interrupted compaction taken away. */
export function checkedSegments(disk: Disk, directory: string): SegmentFile[] {
  for (const name of disk.list(directory)) {
    if (name.endsWith('.new')) disk.remove(path.join(directory, name))
  }
  const all = listSegments(disk, directory)
  for (const { file, head } of all) if (head !== null) checkVersion(file, head)
  const { standing: segments, joined } = sortSegments(all)
  for (const { file } of joined) disk.remove(file)
  for (const [place, { file, head, segment }] of segments.entries()) {
    const last = place === segments.length - 1
    if (head === null) {
      if (!last)
        throw damaged(file, { offset: 0, reason: 'the first line, which describes the file, is damaged' })
      continue
    }
    const before = segments[place - 1]?.segment ?? 0
    if (head.segment !== segment || (head.follows?.segment ?? 0) !== before) {
      const missing = head.follows?.segment ?? 0
      throw damaged(file, {
        offset: 0,
        reason: `it follows segment ${missing}, but the one before it here is ${before}`,
      })
    }
  }
  return segments
}

export function checkVersion(file: string, { version }: SegmentEntry): void {
  if (version === FORMAT_VERSION) return
  throw new TurnbellError('store_damaged', {
    detail: `${file} at byte 0: format ${version}, but this version reads ${FORMAT_VERSION}`,
    hint: 'Start the version of turnbell that wrote it.',
  })
}

/** Applies everything after `from` and answers where the journal ends. */
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
    // Compaction syncs a file before it takes its place, so none of its lines can be torn.
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

/** Reads what comes before a place in its segment, only to see whether it is what was written. */
export function checkLines(disk: Disk, segments: readonly SegmentFile[], before: JournalEnd): void {
  const segment = segments.find((one) => one.segment === before.segment)
  if (segment === undefined) return
  const fd = disk.open(segment.file, 'read')
  try {
    const bad = new LineScanner(disk).scan(fd, 0, before.bytes, () => {})
    if (bad !== null) throw damaged(segment.file, bad)
  } finally {
    disk.close(fd)
  }
}

/** How much of a sealed segment counts. What a former owner wrote after it was sealed is set aside. */
function sealedBytes(recovery: Recovery, segment: SegmentFile, next: SegmentEntry | null): number {
  const { bytes } = segment
  const sealed = sealedAt(segment, next)
  if (sealed === null) return bytes
  if (bytes > sealed) {
    cut(recovery, segment, sealed, 'a former owner wrote here after another hub had taken the journal')
  }
  return sealed
}

class Replay {
  private readonly recovery: Recovery
  private readonly scanner: LineScanner
  private readonly readHeader = createHeaderReader()
  /** Lines of an all-or-nothing group whose last line has not come yet. */
  private group: { head: SignalHead; at: Location }[] = []
  private segment = 0
  /** Where the last commit that was read begins: what stands before it was synced. */
  private proved = 0

  constructor(recovery: Recovery) {
    this.recovery = recovery
    this.scanner = new LineScanner(recovery.disk)
  }

  sealed(segment: SegmentFile, from: number, to: number): void {
    const { disk } = this.recovery
    const fd = disk.open(segment.file, 'read')
    try {
      const bad = this.scan(fd, segment, from, to)
      if (bad !== null) throw damaged(segment.file, bad)
      this.storeGroup()
    } finally {
      disk.close(fd)
    }
  }

  /** Null when nothing of the file is left. */
  last(segment: SegmentFile, from: number): JournalEnd | null {
    const { disk } = this.recovery
    if (segment.bytes === 0) return this.remove(segment)
    let torn: BadLine | null
    const fd = disk.open(segment.file, 'read')
    try {
      const bad = this.scan(fd, segment, from, segment.bytes)
      // A whole first line that describes nothing is no torn write, whatever stands behind it.
      if (segment.head === null && (bad?.offset !== 0 || bad.whole)) {
        throw damaged(segment.file, { offset: 0, reason: 'the first line does not describe the file' })
      }
      if (bad !== null && wasSynced(disk, fd, bad.offset, segment.bytes)) throw damaged(segment.file, bad)
      const [first] = this.group
      torn =
        first === undefined
          ? bad
          : { offset: first.at.offset, reason: 'the signals that belong together are not all there' }
    } finally {
      disk.close(fd)
    }
    if (torn !== null) cut(this.recovery, segment, torn.offset, torn.reason)
    const bytes = torn?.offset ?? segment.bytes
    if (bytes === 0) return this.remove(segment)
    keep(disk, segment, this.proved, bytes)
    return { segment: segment.segment, bytes }
  }

  /** Its writer died before the first line was whole. */
  private remove(segment: SegmentFile): null {
    const { disk, directory } = this.recovery
    disk.remove(segment.file)
    disk.syncDirectory(directory)
    return null
  }

  private scan(fd: number, segment: SegmentFile, from: number, to: number): BadLine | null {
    this.segment = segment.segment
    this.group = []
    this.proved = from
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
    if (key !== undefined) keys.note(row, from, key, keys.find(from, key))
  }

  private entry(entry: Entry, offset: number, length: number): void {
    const { index } = this.recovery
    // The rest of a group may have been forgotten and compacted away.
    this.storeGroup()
    switch (entry.kind) {
      case 'commit':
        this.proved = offset
        return
      case 'closed':
        // It was written together with the commit line before it, and proves no more than that.
        return
      case 'segment': {
        const id = new Uint32Array(4)
        if (entry.last_signal_id !== null) wordsOf(entry.last_signal_id, id)
        return index.noteLast(entry.last_seq, id)
      }
      default:
        index.apply(entry, { segment: this.segment, offset, length })
    }
  }
}

/**
 * A writer that was killed leaves what it had not synced in the system's cache. From here on it counts as kept, in
 * answers and in the first line of the next segment, so now it has to be. It is written once more: where the killed one
 * had met with a sync that failed, the system may take these bytes for written, and a sync alone would find nothing to do.
 */
function keep(disk: Disk, { file }: SegmentFile, from: number, to: number): void {
  const fd = disk.open(file, 'write')
  try {
    const bytes = Buffer.allocUnsafe(to - from)
    writeFully(disk, fd, bytes.subarray(0, disk.read(fd, bytes, from)), from)
    disk.syncNow(fd)
  } finally {
    disk.close(fd)
  }
}

/** Takes everything from `offset` on out of the file, keeping it beside the file. */
function cut(
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

function freeName(disk: Disk, directory: string, wanted: string): string {
  const taken = new Set(disk.list(directory))
  let name = wanted
  for (let count = 2; taken.has(path.basename(name)); count += 1) name = `${wanted}-${count}`
  return name
}
