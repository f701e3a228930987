/**
 * Repairs a damaged journal: unreadable lines are quarantined with their offset and the reason, and everything
 * else stays. A signal whose own line is lost is lost. A signal that lost a later change is pending again,
 * because delivering twice is safer than never.
 *
 * A torn end of the last segment is left to the next open, which cuts it off, unless the file is rewritten
 * for another reason.
 */
import { TextDecoder } from 'node:util'
import path from 'node:path'
import { readCompleteness, type Completeness } from '../journal/completeness.ts'
import { codeOf, isNotAFile, replaceFile, systemDisk, type Disk } from '../journal/disk.ts'
import { FORMAT_VERSION, parseEntry, type SegmentEntry } from '../journal/journal-entries.ts'
import { EPOCH_FILE, isRaisable } from '../journal/fencing-epoch.ts'
import { isValidLine, NEWLINE, sealedLine } from '../journal/sealed-line.ts'
import { checkVersion, freeName } from './recovery.ts'
import { wasSynced } from '../journal/segment-scan.ts'
import { isSegmentName, sortSegments, type SegmentFile } from '../journal/segments.ts'
import { createHeaderReader, isSignalLine } from './signal-line-header.ts'

export interface RepairedFile {
  file: string
  /** File with the quarantined lines, one JSON object per line. */
  kept_in: string
  rejected: number
}

interface Rejected {
  offset: number
  reason: string
  text?: string
  base64?: string
}

interface Checked {
  content: Buffer
  head: SegmentEntry | null
  /** Valid lines after the head, newlines included. */
  lines: Buffer[]
  rejected: Rejected[]
  /** Torn write at the end of the file, as a crash leaves it; null if there is none. */
  torn: Rejected | null
  /**
   * Offset of an incomplete all-or-nothing group at the end of the file; null if there is none. Always null for a compacted
   * file, which may contain parts of groups.
   */
  begun: number | null
  /** True if a commit line contains its own offset: the lines of this file were not moved. */
  unmoved: boolean
}

/**
 * Repairs the journal in a hub's directory (`home.hub_dir`); an intact one is not changed. The caller
 * must hold the directory's lock.
 */
export function repairJournal(hub_directory: string, disk: Disk = systemDisk): RepairedFile[] {
  const directory = path.join(hub_directory, 'journal')
  const repaired: RepairedFile[] = [...quarantineNonFiles(disk, directory)]
  const completeness = readCompleteness(disk, hub_directory)
  const { segments } = completeness
  for (const { file, head } of segments) if (head !== null) checkVersion(file, head)
  const { live } = sortSegments(segments)
  let before: SegmentFile | null = null
  for (const [place, segment] of live.entries()) {
    const last = place === live.length - 1
    const synced = completeness.syncedBytes(segment.segment, segment.head)
    const checked = checkSegment(disk, segment, last, synced)
    const reason = whyOutOfPlace(segment, before, live[place + 1], checked, synced)
    if (reason !== null) checked.rejected.push({ offset: 0, reason })
    if (checked.rejected.length > 0) {
      // At an open, such lines are cut off at the end of a torn file, but not of a rewritten one. So the repair removes
      // them.
      const sealed = sealedAt(segment, live[place + 1], checked)
      quarantineFrom(checked, sealed, 'written by a former owner after another hub had taken the journal')
      if (last) quarantineFrom(checked, checked.begun, 'a group of signals is incomplete')
      if (checked.torn !== null) checked.rejected.push(checked.torn)
      const revision_min = completeness.revisionOf(segment.segment)
      const { report, bytes } = rewrite(disk, segment, { before, last, revision_min }, checked)
      repaired.push(report)
      before = { ...segment, bytes }
    } else before = segment
  }
  repairEpoch(disk, directory, completeness)
  return repaired
}

/** Renames entries with the name of a segment or of the epoch that are not files: directories, devices, broken links. */
function quarantineNonFiles(disk: Disk, directory: string): RepairedFile[] {
  return disk.list(directory).flatMap((name) => {
    const file = path.join(directory, name)
    if ((!isSegmentName(name) && name !== EPOCH_FILE) || isFile(disk, file)) return []
    const kept_in = freeName(disk, directory, `${file}.not-a-file`)
    disk.rename(file, kept_in)
    disk.syncDirectory(directory)
    return [{ file, kept_in, rejected: 1 }]
  })
}

function isFile(disk: Disk, file: string): boolean {
  try {
    disk.close(disk.open(file, 'read'))
    return true
  } catch (error) {
    const code = codeOf(error)
    if (isNotAFile(code) || code === 'ENOENT' || code === 'ELOOP') return false
    throw error
  }
}

/** Checks all lines of a segment. A bad line before `synced` is damage, because those bytes were synced once. */
function checkSegment(
  disk: Disk,
  { file, bytes, head }: SegmentFile,
  last: boolean,
  synced: number,
): Checked {
  const content = disk.readFile(file) ?? Buffer.alloc(0)
  const checked: Checked = {
    content,
    head: null,
    lines: [],
    rejected: [],
    torn: null,
    begun: null,
    unmoved: false,
  }
  // Compaction and repair sync the whole file before renaming it, and no later write changes it.
  const is_rewritten = (head?.revision ?? 0) > 0
  const readHeader = createHeaderReader()
  const keep = (start: number, end: number): boolean => {
    if (!isValidLine(content, start, end)) return false
    try {
      if (isSignalLine(content, start)) {
        const { left } = readHeader(content, start, end)
        checked.begun = left === 0 || is_rewritten ? null : (checked.begun ?? start)
      } else {
        const entry = parseEntry(content.toString('utf8', start, end))
        checked.begun = null
        checked.unmoved ||= entry.kind === 'commit' && entry.at === start
        if (entry.kind === 'segment' && start === 0) {
          checked.head = head
          // False if the head is longer than any reader accepts.
          return head !== null
        }
      }
    } catch {
      return false
    }
    checked.lines.push(content.subarray(start, end + 1))
    return true
  }

  for (let start = 0; start < content.length;) {
    const newline = content.indexOf(NEWLINE, start)
    const end = newline === -1 ? content.length : newline
    if (newline === -1 || !keep(start, end)) {
      // A first line with a valid checksum is not a torn write; the next open treats it as damage, too.
      const is_valid = start === 0 && newline !== -1 && isValidLine(content, start, end)
      const may_be_torn = last && !is_valid && !is_rewritten && start >= synced
      if (may_be_torn && tornFrom(disk, file, start, bytes)) {
        checked.torn = rejectedLine(content, start, content.length)
        break
      }
      const good = goodTail(content, start, end, keep)
      checked.rejected.push(rejectedLine(content, start, good))
    }
    start = end + 1
  }
  return checked
}

/** A damaged newline joins a valid line to a bad one. Finds the valid line and returns its offset. */
function goodTail(
  content: Buffer,
  start: number,
  end: number,
  keep: (start: number, end: number) => boolean,
): number {
  for (let at = content.indexOf('{"kind":"', start + 1); at !== -1 && at < end;) {
    if (keep(at, end)) return at
    at = content.indexOf('{"kind":"', at + 1)
  }
  return end
}

function rejectedLine(content: Buffer, start: number, end: number): Rejected {
  const bytes = content.subarray(start, end)
  const rejected = { offset: start, reason: 'the line does not match its checksum' }
  try {
    return { ...rejected, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { ...rejected, base64: bytes.toString('base64') }
  }
}

function tornFrom(disk: Disk, file: string, offset: number, bytes: number): boolean {
  const fd = disk.open(file, 'read')
  try {
    return !wasSynced(disk, fd, offset, bytes)
  } finally {
    disk.close(fd)
  }
}

/** Returns why the segment does not fit between its neighbours; null if it does. */
function whyOutOfPlace(
  segment: SegmentFile,
  before: SegmentFile | null,
  next: SegmentFile | undefined,
  { content, head, lines, rejected, unmoved }: Checked,
  synced: number,
): string | null {
  if (head === null) {
    if (rejected.length > 0) return null
    if (lines.length > 0) return 'the first line is missing'
    return next === undefined && synced === 0 ? null : 'the file has no valid lines'
  }
  if (head.segment !== segment.segment) return `the first line describes segment ${head.segment}`
  const expected = head.follows?.segment ?? 0
  const previous = before?.segment ?? 0
  if (expected !== previous) {
    return `this segment follows segment ${expected}, which is missing; the previous segment here is ${previous}`
  }
  const sealed = sealedAt(segment, next, { head, unmoved })
  const needed = Math.max(sealed ?? 0, synced)
  if (segment.bytes < needed) {
    return `the file ended at byte ${segment.bytes}, but it was ${needed} bytes long`
  }
  if (sealed === null) return null
  if (sealed > 0 && content[sealed - 1] !== NEWLINE) {
    return `a line continues after byte ${sealed}, where the file ended`
  }
  return null
}

/** Returns the file's length when the next segment was begun; null if it is unknown or the file was rewritten after that. */
function sealedAt(
  { segment }: SegmentFile,
  next: SegmentFile | undefined,
  { head, unmoved }: Pick<Checked, 'head' | 'unmoved'>,
): number | null {
  const follows = next?.head?.follows
  const is_original = head === null ? unmoved : head.revision === 0
  return is_original && follows?.segment === segment ? follows.bytes : null
}

/** Quarantines all lines from the offset on; does nothing if it is null. */
function quarantineFrom(checked: Checked, from: number | null, reason: string): void {
  if (from === null) return
  const { content } = checked
  checked.lines = checked.lines.filter((line) => {
    const offset = line.byteOffset - content.byteOffset
    if (offset < from) return true
    checked.rejected.push({ ...rejectedLine(content, offset, offset + line.length - 1), reason })
    return false
  })
}

function rewrite(
  disk: Disk,
  segment: SegmentFile,
  { before, last, revision_min }: { before: SegmentFile | null; last: boolean; revision_min: number },
  checked: Checked,
): { report: RepairedFile; bytes: number } {
  const { file } = segment
  const kept_in = `${file}.rejected`
  const earlier = disk.readFile(kept_in) ?? Buffer.alloc(0)
  const reasons = checked.rejected.map((rejected) => Buffer.from(`${JSON.stringify(rejected)}\n`))
  // Quarantined before being removed: a crash in between leaves lines in both files, never in neither.
  replaceFile(disk, kept_in, [earlier, ...reasons])
  const old_head = checked.head
  const own_head = old_head?.segment === segment.segment ? old_head : null
  const head: SegmentEntry = {
    kind: 'segment',
    version: FORMAT_VERSION,
    segment: segment.segment,
    // A head of another segment must not make this one cover others.
    first: own_head?.first ?? segment.segment,
    // A new revision, because the length differs from the one that the next segment records.
    revision: Math.max(old_head?.revision ?? 0, revision_min) + 1,
    epoch: old_head?.epoch ?? 1,
    follows: followedEnd(old_head?.follows ?? null, before),
    last_seq: old_head?.last_seq ?? 0,
    last_signal_id: old_head?.last_signal_id ?? null,
  }
  const lines = [sealedLine(head), ...checked.lines]
  const at = lines.reduce((sum, { length }) => sum + length, 0)
  // The file's own commit lines contain old offsets; this one proves later that a damaged first line is not a torn write.
  if (last) lines.push(sealedLine({ kind: 'commit', at }))
  replaceFile(disk, file, lines)
  const bytes = lines.reduce((sum, { length }) => sum + length, 0)
  return { report: { file, kept_in, rejected: checked.rejected.length }, bytes }
}

/** Returns the recorded end of the previous segment, because a former owner may have appended to its file later. */
function followedEnd(recorded: SegmentEntry['follows'], before: SegmentFile | null): SegmentEntry['follows'] {
  if (before === null) return null
  return recorded?.segment === before.segment ? recorded : { segment: before.segment, bytes: before.bytes }
}

/** Replaces an unreadable epoch by one above every epoch that a file records. */
function repairEpoch(disk: Disk, directory: string, { segments, known }: Completeness): void {
  const file = path.join(directory, EPOCH_FILE)
  const text = disk.readFile(file)?.toString('latin1').trim()
  if (text === undefined || isRaisable(Number(text))) return
  const recorded = [...segments.map(({ head }) => head?.epoch ?? 0), ...known.map(({ epoch }) => epoch)]
  const above = recorded.map((epoch) => epoch + 1)
  replaceFile(disk, file, [Buffer.from(`${Math.max(1, ...above.filter(isRaisable))}\n`)])
}
