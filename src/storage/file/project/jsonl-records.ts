/**
 * The records of one kind as lines of one append-only file: one JSON object per line; the last line of an id is
 * current. The file is rewritten only to remove records and invalid lines.
 */
import fs from 'node:fs'
import { appendLines } from './shared-append.ts'
import {
  endsWithNewline,
  partialLine,
  isUnterminated,
  parseJsonl,
  sortedRows,
  startsWith,
  type JsonlLine,
  type JsonlText,
} from './jsonl-text.ts'
import { createFileCleaner, type FileCleaner } from './rewrite-file.ts'
import { checkPlainFolders } from '../records/symlink-guard.ts'
import { changeTo, createNaming, lastChanges, type Change, type NameRecord } from './single-file-records.ts'
import type { SingleFileRecords, SingleFileOptions } from './single-file-records.ts'
import { openRefused, withWriteErrors } from '../journal/disk-errors.ts'
import type { RejectedLine } from '../records/quarantine-lines.ts'
import { swapFile } from '../records/swap-file.ts'
import { createSingleFileQueue } from './single-file-queue.ts'
import { readSettled, watchFile, type WatchedFile } from './watched-file.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { RecordRow } from '../../../ports/record-store.ts'
import type { SerialQueue } from '../../../ports/serial-queue.ts'
import type { UnreadableFile } from '../../../ports/project-store.ts'
import { openPlain } from '../../../system/files/inside.ts'

/** What a rewrite does with a line: keep it, drop it, quarantine it with a reason, or replace its text. */
type Fate = 'stays' | 'goes' | { reason: string } | { text: string }

const NEWLINE = Buffer.from('\n')

export interface JsonlRecords extends SingleFileRecords {
  /** Reports invalid lines, and a partial last line that another program may still be writing. */
  unreadableFiles(): UnreadableFile[]
}

export function createJsonlRecords(options: SingleFileOptions): JsonlRecords {
  const { kind, file } = options
  const records = new JsonlFile(options)
  return {
    ...createSingleFileQueue({
      changeTo: (id, body) => changeTo(kind, id, body),
      write: (changes) => withWriteErrors(file, () => records.write(changes)),
      find: (id) => records.read()?.rows.get(id) ?? null,
      list: (enqueue) => records.list(enqueue),
    }),
    unreadableFiles: () => records.unreadableFiles(),
  }
}

class JsonlFile {
  private readonly options: SingleFileOptions
  private readonly watched: WatchedFile
  private readonly cleaner: FileCleaner
  private readonly name: NameRecord | null
  private current: JsonlText | null = null

  constructor(options: SingleFileOptions) {
    this.options = options
    this.watched = watchFile(options.file)
    this.cleaner = createFileCleaner(options)
    this.name = createNaming(options.newId)
  }

  /** Returns the current content; null if there is no file. */
  read(): JsonlText | null {
    const { kind, stable_ids, tracked } = this.options
    this.checkPath()
    const bytes = this.watched.read()
    if (bytes === null) this.current = null
    else if (bytes !== this.current?.bytes) {
      // A file that git does not track is rewritten with ids by the first list.
      this.current = parseJsonl(kind, bytes, this.current, { name: tracked() ? this.name : null, stable_ids })
    }
    return this.current
  }

  async write(changes: readonly Change[]): Promise<void> {
    const last = lastChanges(changes)
    const more = Buffer.from(last.map(({ text }) => (text === null ? '' : `${text}\n`)).join(''))
    const removed = new Map<string, Fate>()
    for (const { id, text, reason } of last) {
      if (reason !== undefined) removed.set(id, { reason })
      else if (text === null) removed.set(id, 'goes')
    }
    const is_tracked = this.options.tracked()
    const text = removed.size === 0 && !is_tracked ? null : this.read()
    const clean_too = is_tracked && text !== null && invalidLines(text).length > 0
    if (!clean_too && ![...removed.keys()].some((id) => text?.rows.has(id))) {
      if (more.length > 0) await this.append(more, this.options.mayChange)
      return
    }
    // Removes all lines of an id; otherwise an earlier line would become current again.
    const fateOf = (line: JsonlLine): Fate =>
      (line.row === null ? undefined : removed.get(line.row.id)) ??
      (clean_too ? this.cleanedFate(line) : 'stays')
    await this.rewrite(fateOf, more, this.options.mayChange)
  }

  async list(enqueue: SerialQueue): Promise<readonly RecordRow[]> {
    const first = this.read()
    // A partial line is not waited for.
    if (first === null || invalidLines(first).length === 0) return first === null ? [] : sortedRows(first)
    const { content: text, settled } = await this.readSettled()
    if (text === null) return []
    // Lines that only lack an id are read with one already.
    const invalid = invalidLines(text).filter(
      (one) => one.error !== null || this.name === null || !this.options.tracked(),
    )
    if (invalid.length > 0 && settled) {
      const rejects = invalid.map((one) => ({
        reason: one.error ?? NO_ID,
        line: text.bytes.subarray(one.start, one.end),
      }))
      const fateOf = (line: JsonlLine) => this.cleanedFate(line)
      await this.cleaner.clean(text.bytes, rejects, (mayChange) =>
        enqueue(() =>
          withWriteErrors(this.options.file, () => this.rewrite(fateOf, Buffer.alloc(0), mayChange)),
        ),
      )
    }
    const now = invalid.length > 0 ? this.read() : text
    return now === null ? [] : sortedRows(now)
  }

  unreadableFiles(): UnreadableFile[] {
    const { file } = this.options
    const text = this.read()
    if (text === null) return []
    const errors = invalidLines(text).flatMap((line) => line.error ?? [])
    const more = errors.length > 1 ? `, and ${errors.length - 1} more` : ''
    return [
      ...errors.slice(0, 1).map((reason) => ({ file, reason: `a line cannot be read: ${reason}${more}` })),
      ...(partialLine(text) === null ? [] : [{ file, reason: UNENDED }]),
    ]
  }

  /** Waits until no other program seems to be writing the last line. */
  private readSettled() {
    const isPartial = (text: JsonlText) => {
      const last = text.invalid.at(-1)
      return last !== undefined && isUnterminated(text, last)
    }
    return readSettled(this.watched, () => this.read(), isPartial, this.options.pause)
  }

  private append(lines: Buffer, mayChange: () => void): Promise<void> {
    const { file, pause } = this.options
    return appendLines(file, lines, { checkPath: () => this.checkPath(), mayChange, pause })
  }

  /** Rewrites the file, with more lines at its end. */
  private async rewrite(
    fateOf: (line: JsonlLine) => Fate,
    more: Buffer,
    mayChange: () => void,
  ): Promise<void> {
    await this.cleaner.rewrite(mayChange, async (quarantine) => {
      const { content: text, settled } = await this.readSettled()
      if (text === null) {
        await this.append(more, mayChange)
        return true
      }
      // Rewriting would separate a partial line from its rest.
      if (!settled) return false
      const partial = partialLine(text)
      // A partial line stays, so that its writer can complete it.
      const fates = (line: JsonlLine) => (line === partial ? 'stays' : fateOf(line))
      const { pieces, rejects } = partition(text, fates, more.length > 0)
      quarantine(rejects)
      if (!(await this.swap(text.bytes, Buffer.concat([...pieces, more]), more.length > 0, mayChange)))
        return false
      this.cleaner.reportQuarantined(rejects)
      return true
    })
  }

  /**
   * Replaces the bytes of the file, and copies lines that other programs append before and during the rename. Returns false if the file was
   * changed otherwise. `grows`: the new text ends with lines that the file does not contain.
   */
  private async swap(bytes: Buffer, text: Buffer, grows: boolean, mayChange: () => void): Promise<boolean> {
    const { file, pause } = this.options
    let seen = bytes
    const appended = () => {
      const now = this.watched.read()
      if (now === null || !startsWith(now, seen)) return null
      const tail = now.subarray(seen.length)
      const inMiddle = grows && !endsWithNewline(seen)
      // A partial line must stay together with both its start and its rest.
      if (tail.length > 0 && (inMiddle || !endsWithNewline(tail))) return null
      seen = now
      return tail
    }
    const before = openPlain(file)
    if ('why' in before) throw openRefused(file, before)
    try {
      if (!(await swapFile({ file, text, checkPath: () => this.checkPath(), mayChange, appended })))
        return false
      // A program that opened the file before the rename may have appended to the old file after it.
      const late = await readLateLines(before.fd, seen.length, pause)
      if (late.length > 0)
        await this.append(endsWithNewline(late) ? late : Buffer.concat([late, NEWLINE]), mayChange)
      return true
    } finally {
      fs.closeSync(before.fd)
    }
  }

  private checkPath(): void {
    checkPlainFolders(this.options.path_folders)
  }

  private cleanedFate({ error, without_id }: JsonlLine): Fate {
    if (error !== null) return { reason: error }
    if (without_id === null) return 'stays'
    return this.name === null ? { reason: NO_ID } : { text: this.name(without_id) }
  }
}

const NO_ID = 'the record has no id'
const UNENDED = 'its last line is incomplete'

function invalidLines(text: JsonlText): JsonlLine[] {
  const partial = partialLine(text)
  return text.invalid.filter((line) => line !== partial)
}

/** Splits lines into kept bytes and rejected lines. With `ended`, the last line gets a newline. */
function partition({ bytes, lines }: JsonlText, fateOf: (line: JsonlLine) => Fate, ended: boolean) {
  const pieces: Buffer[] = []
  const rejects: RejectedLine[] = []
  for (const line of lines) {
    const raw = bytes.subarray(line.start, line.end)
    const fate = fateOf(line)
    if (fate === 'stays') pieces.push(endsWithNewline(raw) || !ended ? raw : Buffer.concat([raw, NEWLINE]))
    else if (fate === 'goes') continue
    else if ('text' in fate) pieces.push(Buffer.from(`${fate.text}\n`))
    else rejects.push({ reason: fate.reason, line: withoutEnd(raw) })
  }
  return { pieces, rejects }
}

function withoutEnd(raw: Buffer): Buffer {
  return raw.subarray(0, endsWithNewline(raw) ? raw.length - 1 : raw.length)
}

/** Returns bytes appended to an opened file, after waiting for the end of its last line. */
async function readLateLines(fd: number, from: number, pause: SingleFileOptions['pause']): Promise<Buffer> {
  for (let attempts = 1; ; attempts += 1) {
    const late = readFrom(fd, from)
    if (late.length === 0 || endsWithNewline(late) || attempts === LIMITS.file_settle_looks_max) return late
    await pause(LIMITS.file_settle_ms)
  }
}

/** Reads an opened file from an offset to its end. */
function readFrom(fd: number, from: number): Buffer {
  const size = fs.fstatSync(fd).size
  const bytes = Buffer.alloc(Math.max(0, size - from))
  return bytes.subarray(0, bytes.length === 0 ? 0 : fs.readSync(fd, bytes, 0, bytes.length, from))
}
