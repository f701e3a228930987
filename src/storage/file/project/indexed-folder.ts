/**
 * A folder with one file per record and an index file with the main fields of all records, for people and programs
 * that search them. The index is derived from the records and never read as data; the next list corrects any other
 * content.
 */
import path from 'node:path'
import type { KindRecords, RecordRow } from '../../../ports/record-store.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { createSerialQueue } from '../../../ports/serial-queue.ts'
import { checkPlainFolders } from '../records/symlink-guard.ts'
import type { RecordFolderOptions } from '../records/folder-listing.ts'
import { RecordFolder } from '../records/record-folder.ts'
import { withWriteErrors } from '../journal/disk-errors.ts'
import { swapFile } from '../records/swap-file.ts'
import { jsonArrayText } from './json-array-text.ts'
import { watchFile, type WatchedFile } from './watched-file.ts'

export interface IndexedFolderOptions extends RecordFolderOptions {
  path_folders: readonly string[]
  mayChange: () => void
  exclusively: (work: (mayChange: () => void) => Promise<void>) => Promise<boolean>
  /** Returns whether git tracks the folder, whose index then is rewritten only together with a change. */
  tracked: () => boolean
}

export interface IndexedFolder extends KindRecords, Pick<RecordFolder, 'forWork' | 'unreadableFiles'> {
  /** Call at the end of work that may have changed records, still under the lock. */
  afterWork(): Promise<void>
}

const INDEX = 'index.json'

/** Fields of a record in the index, in addition to its id. */
const FIELDS = [
  'timestamp',
  'domain',
  'scope',
  'summary',
  'confidence',
  'status',
  'affected_files',
  'affected_symbols',
  'commit_hashes',
]

const NOTHING = Buffer.alloc(0)

export function createIndexedFolder(options: IndexedFolderOptions): IndexedFolder {
  const records = new RecordFolder({ ...options, index_name: INDEX })
  const index = new IndexFile(options, records)
  /** True if the current work has changed records; `afterWork` then writes the index once. */
  let changing = false

  const change = async <T>(work: () => Promise<T>): Promise<T> => {
    changing = true
    return work()
  }

  const indexed = (view: KindRecords): KindRecords => ({
    put: (id, body) => change(() => view.put(id, body)),
    get: (id) => view.get(id),
    async list() {
      const rows = await view.list()
      if (!changing && !index.isCurrent(rows) && !options.tracked())
        await index.orReport(() => options.exclusively((mayChange) => index.update(mayChange)))
      return rows
    },
    remove: (id) => change(() => view.remove(id)),
    quarantine: (id, reason) => change(() => view.quarantine(id, reason)),
  })

  return {
    ...indexed(records),
    forWork: () => indexed(records.forWork()),
    unreadableFiles: () => records.unreadableFiles(),
    async afterWork() {
      if (!changing) return
      changing = false
      await index.orReport(() => index.update(options.mayChange))
    },
  }
}

class IndexFile {
  private readonly options: IndexedFolderOptions
  private readonly records: RecordFolder
  private readonly file: string
  private readonly watched: WatchedFile
  private readonly texts = new WeakMap<RecordRow, string>()
  /** Orders index writes of this process; the lock excludes only other processes. */
  private readonly enqueue = createSerialQueue()
  /** The last index content that matched these rows. */
  private current: { bytes: Buffer | null; rows: readonly RecordRow[] } | null = null
  private failure_reported = false

  constructor(options: IndexedFolderOptions, records: RecordFolder) {
    this.options = options
    this.records = records
    this.file = path.join(options.folder, INDEX)
    this.watched = watchFile(this.file)
  }

  isCurrent(rows: readonly RecordRow[], text = () => this.textOf(rows)): boolean {
    const bytes = this.read()
    if (this.current?.bytes === bytes && isSame(this.current.rows, rows)) return true
    const is_equal = bytes === null ? rows.length === 0 : bytes.equals(text())
    if (is_equal) this.current = { bytes, rows }
    return is_equal
  }

  update(mayChange: () => void): Promise<void> {
    return this.enqueue(async () => {
      const rows = await this.records.list()
      const text = this.textOf(rows)
      if (this.isCurrent(rows, () => text)) return
      const { file } = this
      const checkPath = () => checkPlainFolders(this.options.path_folders)
      await withWriteErrors(file, () =>
        swapFile({ file, text, checkPath, mayChange, appended: () => NOTHING }),
      )
    })
  }

  /** Reports a failure once. The records are complete without the index, and the next list tries again. */
  async orReport(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
      this.failure_reported = false
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      if (!this.failure_reported) {
        const reason = `the index is not up to date: ${error.detail}`
        this.options.onRejected({ file: this.file, kept_in: null, reason })
      }
      this.failure_reported = true
    }
  }

  private read(): Buffer | null {
    try {
      return this.watched.read()
    } catch (error) {
      // Anything that is not a readable file counts as missing.
      if (error instanceof TurnbellError) return null
      throw error
    }
  }

  private textOf(rows: readonly RecordRow[]): Buffer {
    const texts = rows.map((row) => {
      const text = this.texts.get(row) ?? summary(row)
      this.texts.set(row, text)
      return text
    })
    return Buffer.from(jsonArrayText(texts))
  }
}

function summary({ id, body }: RecordRow): string {
  const fields = FIELDS.flatMap((field) => (body[field] === undefined ? [] : [[field, body[field]]]))
  return JSON.stringify({ id, ...(Object.fromEntries(fields) as object) })
}

function isSame(some: readonly RecordRow[], others: readonly RecordRow[]): boolean {
  return some.length === others.length && some.every((row, at) => row === others[at])
}
