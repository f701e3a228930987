/**
 * Makes a damaged journal open again: what cannot be read is set aside, with its place and the reason,
 * and everything else stays. A signal whose line is lost is lost; what happened to a signal that is lost
 * makes it wait again, which is the safe side.
 *
 * The end of the last segment is left to the next open, which knows how to cut a torn one, unless the file is written anew
 * anyway.
 */
import { TextDecoder } from 'node:util'
import path from 'node:path'
import { replaceFile, systemDisk, type Disk } from './disk.ts'
import { FORMAT_VERSION, parseEntry, type SegmentEntry } from './entries.ts'
import { isRaisable } from './epoch.ts'
import { lineHolds, NEWLINE, sealedLine } from './line.ts'
import { checkVersion } from './recovery.ts'
import { wasSynced } from './scan.ts'
import { listSegments, sortSegments, type SegmentFile } from './segments.ts'
import { createHeaderReader, isSignalLine } from './signal-header.ts'

export interface RepairedFile {
  file: string
  /** What was set aside is in here, one JSON object a line. */
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
  /** Good lines behind the head, newlines included. */
  lines: Buffer[]
  rejected: Rejected[]
  /** In which the file ends, as a crash leaves it; null where it does not. */
  torn: Rejected | null
  /**
   * Where signals begin at the end of the file of which the last is missing, all or nothing; null where none do, and in a
   * compacted file, which may have a part of some.
   */
  begun: number | null
  /** A commit line says where it stands itself: nobody has put the lines of this file anywhere else since. */
  unmoved: boolean
}

/**
 * Repairs the journal under a hub's directory (`home.hub_dir`); a sound one is left as it is. The caller
 * holds the directory's lock.
 */
export function repairJournal(hub_directory: string, disk: Disk = systemDisk): RepairedFile[] {
  const directory = path.join(hub_directory, 'journal')
  const repaired: RepairedFile[] = []
  const segments = listSegments(disk, directory)
  for (const { file, head } of segments) if (head !== null) checkVersion(file, head)
  const { standing } = sortSegments(segments)
  let before: SegmentFile | null = null
  for (const [place, segment] of standing.entries()) {
    const last = place === standing.length - 1
    const checked = check(disk, segment, last)
    const reason = whyOutOfPlace(segment, before, standing[place + 1], checked)
    if (reason !== null) checked.rejected.push({ offset: 0, reason })
    if (checked.rejected.length > 0) {
      // An open would cut these off, as their senders were told; of a rewritten file it cuts nothing.
      const sealed = sealedAt(segment, standing[place + 1], checked)
      leaveOut(checked, sealed, 'a former owner wrote here after another hub had taken the journal')
      if (last) leaveOut(checked, checked.begun, 'the signals that belong together are not all there')
      if (checked.torn !== null) checked.rejected.push(checked.torn)
      const { report, bytes } = rewrite(disk, segment, { before, last }, checked)
      repaired.push(report)
      before = { ...segment, bytes }
    } else before = segment
  }
  repairEpoch(disk, directory, segments)
  return repaired
}

function check(disk: Disk, { file, bytes, head }: SegmentFile, last: boolean): Checked {
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
  // It was synced as a whole, and is never written to again.
  const is_rewritten = (head?.revision ?? 0) > 0
  const readHeader = createHeaderReader()
  const keep = (start: number, end: number): boolean => {
    if (!lineHolds(content, start, end)) return false
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
          // Nobody else reads one that is so long.
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
      // A first line that holds is no torn write, whatever it says; the next open takes it for damage, too.
      const is_whole = start === 0 && newline !== -1 && lineHolds(content, start, end)
      if (last && !is_whole && !is_rewritten && tornFrom(disk, file, start, bytes)) {
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

/** A newline that was damaged joins a good line to a bad one: the good one behind it is found again. */
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
  const said = { offset: start, reason: 'the line does not match its checksum' }
  try {
    return { ...said, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { ...said, base64: bytes.toString('base64') }
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

/** What does not fit between this segment and its neighbours; null when all does. */
function whyOutOfPlace(
  segment: SegmentFile,
  before: SegmentFile | null,
  next: SegmentFile | undefined,
  { content, head, lines, rejected, unmoved }: Checked,
): string | null {
  if (head === null) {
    if (rejected.length > 0) return null
    if (lines.length > 0) return 'the first line is missing'
    return next === undefined ? null : 'nothing is left of the file'
  }
  if (head.segment !== segment.segment) return `the first line says that it is segment ${head.segment}`
  const expected = head.follows?.segment ?? 0
  const found = before?.segment ?? 0
  if (expected !== found) return `it follows segment ${expected}, which is missing; before it stands ${found}`
  const sealed = sealedAt(segment, next, { head, unmoved })
  if (sealed === null) return null
  if (segment.bytes < sealed) {
    return `the file ended at byte ${segment.bytes}, but it was ${sealed} bytes long`
  }
  if (sealed > 0 && content[sealed - 1] !== NEWLINE) {
    return `a line goes on behind byte ${sealed}, where the file ended`
  }
  return null
}

/** Where the file ended when the next one was begun; null where nothing says so, or it has been rewritten since. */
function sealedAt(
  { segment }: SegmentFile,
  next: SegmentFile | undefined,
  { head, unmoved }: Pick<Checked, 'head' | 'unmoved'>,
): number | null {
  const follows = next?.head?.follows
  const is_original = head === null ? unmoved : head.revision === 0
  return is_original && follows?.segment === segment ? follows.bytes : null
}

/** Sets aside what stands from there on; nothing where that is null. */
function leaveOut(checked: Checked, from: number | null, reason: string): void {
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
  { before, last }: { before: SegmentFile | null; last: boolean },
  checked: Checked,
): { report: RepairedFile; bytes: number } {
  const { file } = segment
  const kept_in = `${file}.rejected`
  const earlier = disk.readFile(kept_in) ?? Buffer.alloc(0)
  const reasons = checked.rejected.map((rejected) => Buffer.from(`${JSON.stringify(rejected)}\n`))
  // First what is taken out, then taking it out: a crash in between sets it aside twice, never not at all.
  replaceFile(disk, kept_in, [earlier, ...reasons])
  const said = checked.head
  const own = said?.segment === segment.segment ? said : null
  const head: SegmentEntry = {
    kind: 'segment',
    version: FORMAT_VERSION,
    segment: segment.segment,
    // One that came from another place stands for no other than itself.
    first: own?.first ?? segment.segment,
    // Its length is no longer what the next one remembers.
    revision: (said?.revision ?? 0) + 1,
    epoch: said?.epoch ?? 1,
    follows: followed(said?.follows ?? null, before),
    last_seq: said?.last_seq ?? 0,
    last_signal_id: said?.last_signal_id ?? null,
  }
  const lines = [sealedLine(head), ...checked.lines]
  const at = lines.reduce((sum, { length }) => sum + length, 0)
  // Those that stand in it name other places now: by this one damage of the first line is told from a torn write.
  if (last) lines.push(sealedLine({ kind: 'commit', at }))
  replaceFile(disk, file, lines)
  const bytes = lines.reduce((sum, { length }) => sum + length, 0)
  return { report: { file, kept_in, rejected: checked.rejected.length }, bytes }
}

/** Where the one before ended, its follower alone knows: behind that a former owner may have written. */
function followed(said: SegmentEntry['follows'], before: SegmentFile | null): SegmentEntry['follows'] {
  if (before === null) return null
  return said?.segment === before.segment ? said : { segment: before.segment, bytes: before.bytes }
}

/** An epoch that cannot be read is put above every one that wrote a segment. */
function repairEpoch(disk: Disk, directory: string, segments: readonly SegmentFile[]): void {
  const file = path.join(directory, 'epoch')
  const text = disk.readFile(file)?.toString('latin1').trim()
  if (text === undefined || isRaisable(Number(text))) return
  const above = segments.map(({ head }) => (head?.epoch ?? 0) + 1)
  replaceFile(disk, file, [Buffer.from(`${Math.max(1, ...above.filter(isRaisable))}\n`)])
}
