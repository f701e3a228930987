/**
 * A folder with a file for each record, and beside them one that says the most important of all: for people and
 * programs that look through them. It is made from the records and never read as truth; whatever somebody does to
 * it, and whatever is done to the records past it, it is what they give after the next look.
 */
import path from 'node:path'
import type { HeldRecords, RecordRow } from '../../ports/record-store.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { createLine } from '../together.ts'
import { needPlainFolders } from './plain-folders.ts'
import { createRecordFolder, type RecordFolder, type RecordFolderOptions } from './record-folder.ts'
import { writing } from './refusal.ts'
import { swapFile } from './swap-file.ts'
import { tableText } from './table-text.ts'
import { watchFile } from './watched-file.ts'

export interface IndexedFolderOptions extends RecordFolderOptions {
  on_the_way: readonly string[]
  mayChange: () => void
  alone: (work: (mayChange: () => void) => Promise<void>) => Promise<boolean>
  /** Whether git tracks the folder: only a change rewrites its index. */
  tracked: () => boolean
}

export interface IndexedFolder extends RecordFolder {
  /** At the end of work that may have changed something, still under the lock. */
  afterWork(): Promise<void>
}

const INDEX = 'index.json'

/** What the index says of a record beside its id, as far as the record says it. */
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
  const { folder, alone, onRejected, on_the_way } = options
  const file = path.join(folder, INDEX)
  const records = createRecordFolder({ ...options, beside: INDEX })
  const watched = watchFile(file)
  const texts = new WeakMap<RecordRow, string>()
  /** Of those in this process that write it: the lock keeps out only the others. */
  const line = createLine()
  /** Changed by the work that is being done: its end writes the index once for all of it. */
  let changing = false
  /** The index as it was last found to be what these rows give. */
  let current: { bytes: Buffer | null; rows: readonly RecordRow[] } | null = null
  let told = false

  const textOf = (row: RecordRow): string => {
    const known = texts.get(row) ?? summary(row)
    texts.set(row, known)
    return known
  }

  const isCurrent = (rows: readonly RecordRow[], text: () => Buffer): boolean => {
    const bytes = bytesNow()
    if (current?.bytes === bytes && isSame(current.rows, rows)) return true
    const found = bytes === null ? rows.length === 0 : bytes.equals(text())
    if (found) current = { bytes, rows }
    return found
  }

  const bytesNow = () => {
    try {
      return watched.look()
    } catch (error) {
      // Whatever else stands in its place is as good as none.
      if (error instanceof TurnbellError) return null
      throw error
    }
  }

  const bring = (mayChange: () => void): Promise<void> =>
    line.next(async () => {
      const rows = await records.list()
      const text = Buffer.from(tableText(rows.map(textOf)))
      if (isCurrent(rows, () => text)) return
      const needWay = () => needPlainFolders(on_the_way)
      await writing(file, () => swapFile({ file, text, needWay, mayChange, since: () => NOTHING }))
    })

  /** The records stand without it, and the next list tries again. */
  const orTell = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
      told = false
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      if (!told) onRejected({ file, kept_in: null, reason: `it is not up to date: ${error.detail}` })
      told = true
    }
  }

  const change = async <T>(work: () => Promise<T>): Promise<T> => {
    changing = true
    return work()
  }

  const indexed = (records: HeldRecords): HeldRecords => ({
    put: (id, body) => change(() => records.put(id, body)),
    get: (id) => records.get(id),
    async list() {
      const rows = await records.list()
      const text = () => Buffer.from(tableText(rows.map(textOf)))
      if (!changing && !isCurrent(rows, text) && !options.tracked()) await orTell(() => alone(bring))
      return rows
    },
    remove: (id) => change(() => records.remove(id)),
    setAside: (id, reason) => change(() => records.setAside(id, reason)),
  })

  return {
    ...indexed(records),
    forWork: () => indexed(records.forWork()),
    unread: () => records.unread(),
    async afterWork() {
      if (!changing) return
      changing = false
      await orTell(() => bring(options.mayChange))
    },
  }
}

function summary({ id, body }: RecordRow): string {
  const said = FIELDS.flatMap((field) => (body[field] === undefined ? [] : [[field, body[field]]]))
  return JSON.stringify({ id, ...(Object.fromEntries(said) as object) })
}

function isSame(some: readonly RecordRow[], others: readonly RecordRow[]): boolean {
  return some.length === others.length && some.every((row, at) => row === others[at])
}
