/**
 * The records of one kind as a folder with one JSON file per record. The file name is derived from the id and is
 * safe on every file system; the id itself is in the file.
 *
 * This module neither queues calls nor takes locks; its caller does.
 */
import {
  closeSync,
  fstatSync,
  fsync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import fs from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { KindRecords, RecordBody, RecordRow } from '../../../ports/record-store.ts'
import type { UnreadableFile } from '../../../ports/project-store.ts'
import { codeOf } from '../journal/disk.ts'
import { withWriteErrors } from '../journal/disk-errors.ts'
import { syncDirectory, syncMade } from '../journal/sync-directory.ts'
import { FolderListing, MERGED_REASON, type ListedFile, type RecordFolderOptions } from './folder-listing.ts'
import { quarantineCopy } from './quarantine-file.ts'
import { RECORD_ENDING, stampAt, stampOf } from './read-record.ts'
import { recordName, recordText } from './record-file.ts'

/** Stamp of each file when the work last read or wrote it; null if changes are not checked. */
type SeenStamps = Map<string, string> | null

export class RecordFolder implements KindRecords {
  private readonly options: RecordFolderOptions
  private readonly listing: FolderListing
  private readonly seen: SeenStamps

  constructor(options: RecordFolderOptions, listing = new FolderListing(options), seen: SeenStamps = null) {
    this.options = options
    this.listing = listing
    this.seen = seen
  }

  /**
   * Returns a view for work that reads and then writes. It throws `store_unavailable` instead of overwriting or removing a
   * record that another program changed after the work last read it.
   */
  forWork(): KindRecords {
    return new RecordFolder(this.options, this.listing, new Map())
  }

  /** Invalid files that the last list left in place. */
  unreadableFiles(): UnreadableFile[] {
    return this.listing.unreadableFiles()
  }

  put(id: string, body: RecordBody): Promise<void> {
    const { form, kind } = this.options
    return withWriteErrors(this.fileOf(id), async (file) => {
      this.checkWritable()
      const foreign = await this.listing.foreignFile(id)
      const text = recordText(form, kind, id, body)
      await this.createFolder()
      this.checkWritable()
      await this.replace(file, text, foreign)
      await syncDirectory(this.options.folder)
    })
  }

  async get(id: string): Promise<RecordBody | null> {
    const { listing, seen } = this
    listing.checkPath()
    const file = this.fileOf(id)
    const reading = await listing.read(file)
    if (reading === null) {
      const foreign = await listing.foreignFile(id)
      const other = foreign === null ? null : await listing.read(foreign)
      if (foreign === null || other === null || !('id' in other.record)) return null
      seen?.set(foreign, other.stamp)
      return other.record.body
    }
    const { stamp, record } = reading
    if ('id' in record) {
      seen?.set(file, stamp)
      return record.body
    }
    if (record.stays !== true) await listing.quarantine([{ file, stamp, reason: record.reason }])
    return null
  }

  async list(): Promise<RecordRow[]> {
    this.listing.checkPath()
    const listed = await this.listing.list()
    this.seen?.clear()
    for (const [name, { stamp }] of listed) this.seen?.set(path.join(this.options.folder, name), stamp)
    return rowsOf(listed).sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  remove(id: string): Promise<void> {
    return withWriteErrors(this.fileOf(id), async (named) => {
      const foreign = await this.listing.foreignFile(id)
      // A file that is already gone needs no removal.
      const files = [named, ...(foreign === null ? [] : [foreign])].filter((file) => stampAt(file) !== null)
      for (const file of files) {
        this.checkUnchanged(file)
        await this.keepConflict(file)
        this.checkWritable()
        try {
          this.checkUnchanged(file)
          unlinkSync(file)
        } catch (error) {
          if (codeOf(error) === 'ENOENT') continue
          throw error
        }
        this.seen?.delete(file)
        await syncDirectory(this.options.folder)
      }
    })
  }

  async quarantine(id: string, reason: string): Promise<void> {
    this.listing.checkPath()
    const named = this.fileOf(id)
    const file = stampAt(named) === null ? ((await this.listing.foreignFile(id)) ?? named) : named
    const stamp = this.seen?.get(file) ?? stampAt(file)
    if (stamp === null) return
    this.options.mayChange?.()
    await this.listing.quarantine([{ file, stamp, reason }])
    this.seen?.delete(file)
  }

  private fileOf(id: string): string {
    return path.join(this.options.folder, `${recordName(id)}${RECORD_ENDING}`)
  }

  private checkWritable(): void {
    this.listing.checkPath()
    this.options.mayChange?.()
  }

  private async createFolder(): Promise<void> {
    const { folder, edited } = this.options
    const made = await fs.mkdir(folder, { recursive: true, ...(edited ? {} : { mode: 0o700 }) })
    if (made !== undefined) await syncMade(made, folder)
  }

  /** Writes a synced draft, and renames it to the file. Removes the file named by a foreign id, if there is one. */
  private async replace(file: string, text: string, foreign: string | null): Promise<void> {
    const { putting, modes } = this.listing
    const draft = `${file}.new`
    // An existing draft may be a link, through which this would write.
    rmSync(draft, { recursive: true, force: true })
    const fd = openSync(draft, 'wx', modes.file)
    putting.add(file)
    try {
      writeFileSync(fd, text)
      await synced(fd)
      this.checkUnchanged(file)
      await this.keepConflict(file)
      this.checkWritable()
      // A process that was suspended may have created its own draft here.
      if (statSync(draft).ino !== fstatSync(fd).ino) throw new Error('another process writes this file')
      // Synchronous up to the rename, so that a concurrent quarantine never moves the new file instead of the old one.
      this.checkUnchanged(file)
      if (foreign !== null) this.checkUnchanged(foreign)
      renameSync(draft, file)
      this.seen?.set(file, stampOf(fstatSync(fd)))
      if (foreign !== null) rmSync(foreign, { force: true })
    } finally {
      putting.delete(file)
      closeSync(fd)
    }
  }

  /** Quarantines a copy of a file with an unresolved merge before it is replaced. */
  private async keepConflict(file: string): Promise<void> {
    if (!this.options.edited) return
    // `edited: false`, because the file is about to be replaced and cannot be read again later.
    const reading = await this.listing.read(file, false)
    if (reading === null) return
    const { record, stamp } = reading
    if ('id' in record ? record.merged !== true : record.stays !== true) return
    this.checkWritable()
    const reason = 'id' in record ? MERGED_REASON : record.reason
    quarantineCopy(this.listing.quarantineOptions(), { file, stamp, reason })
  }

  private checkUnchanged(file: string): void {
    const before = this.seen?.get(file)
    if (before === undefined || stampAt(file) === before) return
    throw new TurnbellError('store_unavailable', {
      detail: `${file} was changed by another program after it was read; that change was kept`,
      hint: 'Call again.',
    })
  }
}

/** Returns one row per id. A file named by the ULID takes precedence over one named by the foreign id. */
function rowsOf(notes: ReadonlyMap<string, ListedFile>): RecordRow[] {
  const rows = new Map<string, RecordRow>()
  for (const [name, { row }] of notes) {
    if (row === null) continue
    if (!rows.has(row.id) || name === `${row.id}${RECORD_ENDING}`) rows.set(row.id, row)
  }
  return [...rows.values()]
}

const synced = promisify(fsync)
