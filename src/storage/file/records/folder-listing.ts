/**
 * Lists the record files of a folder. Unchanged files are not read again; invalid files are quarantined, and merged
 * files are rewritten.
 */
import fs from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as breathe, setTimeout as wait } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { Ulid } from '../../../contracts/ids.ts'
import type { RecordRow } from '../../../ports/record-store.ts'
import type { UnreadableFile } from '../../../ports/project-store.ts'
import { codeOf } from '../journal/disk.ts'
import { toReadError } from '../journal/disk-errors.ts'
import { recordText, type RecordForm } from './record-file.ts'
import { readRecordFile, RECORD_ENDING, stampAt, type RecordReading } from './read-record.ts'
import {
  groupByReason,
  quarantineFile,
  replaceKeepingCopy,
  type BadFile,
  type QuarantineNotice,
  type QuarantineOptions,
} from './quarantine-file.ts'
import { checkPlainFolders } from './symlink-guard.ts'

export interface RecordFolderOptions {
  kind: string
  folder: string
  /** Quarantine folder for invalid files, each with its reason next to it. */
  rejected: string
  form: RecordForm
  /** See `ReadOptions`. Folders and files that only turnbell writes have the modes 0700 and 0600. */
  edited: boolean
  /** See `ReadOptions`. */
  stable_ids?: boolean
  /** Name of the index file in the folder, which is not a record. */
  index_name?: string
  onRejected: (notice: QuarantineNotice) => void
  /** Folders that other users may have created. No file is read or written if one of them is a link. */
  path_folders?: readonly string[]
  /**
   * Runs the work while no other process writes to the folder. Returns false without running it if one does.
   * Throws a TurnbellError if that cannot be determined.
   */
  exclusively?: (work: () => Promise<void>) => Promise<boolean>
  /** Called before a put writes anything, and right before a file is created, changed or removed; throws if not allowed. */
  mayChange?: () => void
  /** Only tests bring their own. */
  pause?: (ms: number) => Promise<unknown>
}

const READS_AT_ONCE = 32
/** Number of stamps read between two yields to the event loop; they take about one millisecond. */
const STAMPS_AT_ONCE = 128

/** Number of files quarantined under one lock. */
const REJECTS_AT_ONCE = 32

/** State of a file at the last list: a row, or the reason why it is invalid and stays in place. */
export interface ListedFile {
  stamp: string
  stamp_is_final: boolean
  row: RecordRow | null
  reason?: string
}

/** Files on which a list has to act. */
interface ListFindings {
  bad: BadFile[]
  merged: (BadFile & { row: RecordRow })[]
}

export const MERGED_REASON =
  'the file contained both sides of a merge, which were merged; this is the original'

export class FolderListing {
  /** Files for which a put has written a draft. */
  readonly putting = new Set<string>()
  /** Modes of private folders and files; empty for the user's defaults. */
  readonly modes: { folder?: number; file?: number }
  private readonly options: RecordFolderOptions
  /** By file name. */
  private listed: ReadonlyMap<string, ListedFile> = new Map()

  constructor(options: RecordFolderOptions) {
    this.options = options
    this.modes = options.edited ? {} : { folder: 0o700, file: 0o600 }
  }

  /** Reads a record file. With `edited: false`, does not wait until another program has written it. */
  read(file: string, edited = this.options.edited): Promise<RecordReading | null> {
    const { kind, form, stable_ids = false, pause = wait } = this.options
    return readRecordFile(file, { kind, form, edited, stable_ids, pause })
  }

  /** Throws if a folder on the path is a link. */
  checkPath(): void {
    checkPlainFolders(this.options.path_folders ?? [])
  }

  /**
   * Returns the state of each file, by its name. Rows that did not change since the last list are the same objects.
   */
  async list(): Promise<ReadonlyMap<string, ListedFile>> {
    const notes = new Map<string, ListedFile>()
    const unread: string[] = []
    const found: ListFindings = { bad: [], merged: [] }
    for (const [index, name] of (await this.names()).entries()) {
      if (index % STAMPS_AT_ONCE === STAMPS_AT_ONCE - 1) await breathe()
      const known = this.listed.get(name)
      const same =
        known?.stamp_is_final === true && stampAt(`${this.options.folder}${path.sep}${name}`) === known.stamp
      if (same) notes.set(name, known)
      else unread.push(name)
    }
    await forEachConcurrently(unread, (name) => this.readListed(name, notes, found))
    await this.rewriteMerged(found.merged, notes)
    for (const { file, stamp, reason } of await this.quarantine(found.bad)) {
      notes.set(path.basename(file), { stamp, stamp_is_final: true, row: null, reason })
    }
    // A concurrent list may have returned rows already; equal rows must be the same objects.
    for (const [name, note] of notes) notes.set(name, this.reuseRow(name, note))
    this.listed = notes
    return notes
  }

  /** Quarantines files and returns those that stay in place. If another process is writing, a later list finds them again. */
  async quarantine(bad: readonly BadFile[]): Promise<BadFile[]> {
    const { exclusively = runDirectly, edited, onRejected } = this.options
    const staying: BadFile[] = []
    const notices: QuarantineNotice[] = []
    const collecting = this.quarantineOptions((notice) => void notices.push(notice))
    for (let at = 0; at < bad.length; at += REJECTS_AT_ONCE) {
      const some = bad.slice(at, at + REJECTS_AT_ONCE)
      try {
        await exclusively(async () => {
          this.checkPath()
          staying.push(...some.filter((one) => !quarantineFile(collecting, one)))
        })
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        for (const { file, reason } of some) notices.push({ file, kept_in: null, reason })
        staying.push(...some)
      }
    }
    // People may damage many files in the same way, such as by a merge.
    for (const notice of edited ? groupByReason(notices) : notices) onRejected(notice)
    return staying
  }

  /** Returns the file of a record with a foreign id, which is named by that id; null if there is none. */
  async foreignFile(id: string): Promise<string | null> {
    if (this.options.stable_ids !== true || !Ulid.safeParse(id).success) return null
    for (const name of await this.names()) {
      if (Ulid.safeParse(name.slice(0, -RECORD_ENDING.length)).success) continue
      const file = path.join(this.options.folder, name)
      const note = this.listed.get(name)
      const same = note?.stamp_is_final === true && stampAt(file) === note.stamp
      if (same ? note.row?.id === id : idIn(await this.read(file)) === id) return file
    }
    return null
  }

  unreadableFiles(): UnreadableFile[] {
    return [...this.listed].flatMap(([name, { reason }]) =>
      reason === undefined ? [] : [{ file: path.join(this.options.folder, name), reason }],
    )
  }

  quarantineOptions(onRejected = this.options.onRejected): QuarantineOptions {
    return { rejected: this.options.rejected, modes: this.modes, onRejected }
  }

  /** Reads a file for a list and records its state, so that the next list can skip it if it is unchanged. */
  private async readListed(name: string, notes: Map<string, ListedFile>, found: ListFindings): Promise<void> {
    const file = path.join(this.options.folder, name)
    const seen = await this.read(file)
    if (seen === null) return
    const { stamp, stamp_is_final, record } = seen
    if ('reason' in record) {
      const { reason, stays = false } = record
      if (!stays) return void found.bad.push({ file, stamp, reason })
      notes.set(name, { stamp, stamp_is_final, row: null, reason })
      if (this.listed.get(name)?.stamp !== stamp) this.options.onRejected({ file, kept_in: null, reason })
      return
    }
    const { merged, ...row } = record
    notes.set(name, { stamp, stamp_is_final, row })
    if (merged === true) found.merged.push({ file, stamp, reason: MERGED_REASON, row })
  }

  /**
   * Rewrites merged files. If another process is writing, or the disk is not writable, the files stay and are merged on each
   * read. A put in progress in this process quarantines both sides itself.
   */
  private async rewriteMerged(merged: ListFindings['merged'], notes: Map<string, ListedFile>): Promise<void> {
    if (merged.length === 0) return
    const { kind, form, exclusively = runDirectly } = this.options
    try {
      await exclusively(async () => {
        this.checkPath()
        for (const { row, ...one } of merged.filter(({ file }) => !this.putting.has(file))) {
          const stamp = replaceKeepingCopy(
            this.quarantineOptions(),
            one,
            recordText(form, kind, row.id, row.body),
          )
          if (stamp !== null) notes.set(path.basename(one.file), { stamp, stamp_is_final: false, row })
        }
      })
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
    }
  }

  /** Reuses the row object of the last list if the content is equal. */
  private reuseRow(name: string, note: ListedFile): ListedFile {
    const before = this.listed.get(name)?.row ?? null
    return before !== null && before !== note.row && isDeepStrictEqual(before, note.row)
      ? { ...note, row: before }
      : note
  }

  /** Returns the names of the record files. */
  private async names(): Promise<string[]> {
    const { folder, index_name } = this.options
    const names = await namesIn(folder)
    return names.filter((name) => name.endsWith(RECORD_ENDING) && name !== index_name)
  }
}

function idIn(reading: RecordReading | null): string | null {
  return reading !== null && 'id' in reading.record ? reading.record.id : null
}

async function runDirectly(work: () => Promise<void>): Promise<boolean> {
  await work()
  return true
}

async function forEachConcurrently<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: READS_AT_ONCE }, worker))
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await fs.readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw toReadError(folder, error)
  }
}
