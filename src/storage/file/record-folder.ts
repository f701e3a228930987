/**
 * The records of one kind: a folder with a JSON file for each. A file's name is made from the id so that it
 * is safe on every file system; what the id really is, the file says.
 *
 * Nobody's turn is kept here, and no lock: that is up to whoever holds the folder.
 */
import { renameSync } from 'node:fs'
import fs from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as breathe, setTimeout as wait } from 'node:timers/promises'
import { needPlainFolders } from './plain-folders.ts'
import { readRecord, recordName, recordText, type RecordForm } from './record-file.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { HeldRecords, RecordRow } from '../../ports/record-store.ts'
import { codeOf } from './disk.ts'
import { lookAt, RECORD_ENDING, stampAt } from './record-look.ts'
import { rejectFile, type BadFile, type RejectedRecord } from './rejected-records.ts'

export type { RejectedRecord } from './rejected-records.ts'

export interface RecordFolderOptions {
  kind: string
  folder: string
  /** Where files go that are no records, each with its reason beside it. */
  rejected: string
  form: RecordForm
  /** Modes 0700 and 0600; otherwise what the user's own files get. */
  secret: boolean
  /** See `LookOptions`. */
  edited: boolean
  onRejected: (notice: RejectedRecord) => void
  /** Folders that others may have made. Nothing is looked at or done where one of them is a link. */
  on_the_way?: readonly string[]
  /**
   * Does this while no other process writes the folder. False where one does, and then it was not done.
   * Throws a refusal where that cannot be known.
   */
  alone?: (work: () => void) => Promise<boolean>
  /** Called at the last moment before a file appears, changes or goes; throws where that must not be. */
  mayChange?: () => void
  /** Only tests bring their own. */
  pause?: (ms: number) => Promise<unknown>
}

const READS_AT_ONCE = 32
/** So many looks at a stamp take a millisecond, which is as long as everybody else may wait. */
const STAMPS_AT_ONCE = 128

/** So many are moved at one go. */
const REJECTS_AT_ONCE = 32

/** A file as the last list found it; the text is null where it is no record and could not be moved. */
interface Kept {
  stamp: string
  text: string | null
}

export function createRecordFolder(options: RecordFolderOptions): HeldRecords {
  const { kind, folder, form, secret, pause = wait, mayChange = () => {}, on_the_way = [] } = options
  const { alone = byItself, onRejected } = options
  const modes = secret ? { folder: 0o700, file: 0o600 } : {}
  const fileOf = (id: string) => path.join(folder, `${recordName(id)}${RECORD_ENDING}`)
  const look = (file: string) => lookAt(file, { kind, form, edited: options.edited, pause })
  const needWay = () => needPlainFolders(on_the_way)
  let kept = new Map<string, Kept>()
  let lists = 0

  /** Answers those that stay where they are for good. Where somebody else is at it, a later look finds them again. */
  const reject = async (bad: readonly BadFile[]): Promise<BadFile[]> => {
    const staying: BadFile[] = []
    for (let at = 0; at < bad.length; at += REJECTS_AT_ONCE) {
      const some = bad.slice(at, at + REJECTS_AT_ONCE)
      try {
        await alone(() => {
          needWay()
          staying.push(...some.filter((one) => !rejectFile({ ...options, modes }, one)))
        })
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        for (const { file, reason } of some) onRejected({ file, kept_in: null, reason })
        staying.push(...some)
      }
    }
    return staying
  }

  /** Reads a file for a list, and notes what the next one need not read again. */
  const readListed = async (
    name: string,
    notes: Map<string, Kept>,
    bad: BadFile[],
  ): Promise<RecordRow | null> => {
    const file = path.join(folder, name)
    const seen = await look(file)
    if (seen === null) return null
    const { stamp, record, text } = seen
    if ('reason' in record) {
      bad.push({ file, stamp, reason: record.reason })
      return null
    }
    if (seen.stamp_holds) notes.set(name, { stamp, text })
    return record
  }

  return {
    put: (id, body) =>
      writing(fileOf(id), async (file) => {
        needWay()
        const text = recordText(form, kind, id, body)
        const made = await fs.mkdir(folder, { recursive: true, ...directoryMode(secret) })
        if (made !== undefined) await syncDirectory(path.dirname(folder))
        // What stands there may be a link, and would be written through.
        await fs.rm(`${file}.new`, { recursive: true, force: true })
        await fs.writeFile(`${file}.new`, text, { flag: 'wx', flush: true, ...fileMode(secret) })
        needWay()
        mayChange()
        // In one go, as a file is rejected: what has just been put is never taken for what was there before.
        renameSync(`${file}.new`, file)
        await syncDirectory(folder)
      }),

    async get(id) {
      needWay()
      const file = fileOf(id)
      const seen = await look(file)
      if (seen === null) return null
      if ('id' in seen.record) return seen.record.body
      await reject([{ file, stamp: seen.stamp, reason: seen.record.reason }])
      return null
    },

    async list() {
      needWay()
      lists += 1
      const notes = new Map<string, Kept>()
      const rows: RecordRow[] = []
      const unread: string[] = []
      const bad: BadFile[] = []
      const names = (await namesIn(folder)).filter((name) => name.endsWith(RECORD_ENDING))
      for (const [index, name] of names.entries()) {
        if (index % STAMPS_AT_ONCE === STAMPS_AT_ONCE - 1) await breathe()
        const known = kept.get(name)
        if (known === undefined || stampAt(path.join(folder, name)) !== known.stamp) {
          unread.push(name)
          continue
        }
        notes.set(name, known)
        if (known.text === null) continue
        const record = readRecord(form, kind, path.basename(name, RECORD_ENDING), known.text)
        if ('id' in record) rows.push(record)
      }
      await severalAtOnce(unread, async (name) => {
        const row = await readListed(name, notes, bad)
        if (row !== null) rows.push(row)
      })
      for (const { file, stamp } of await reject(bad)) notes.set(path.basename(file), { stamp, text: null })
      // What is listed once, when a hub starts, is not worth its memory.
      if (lists > 1) kept = notes
      return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
    },

    remove: (id) =>
      writing(fileOf(id), async (file) => {
        needWay()
        mayChange()
        try {
          await fs.unlink(file)
        } catch (error) {
          if (codeOf(error) === 'ENOENT') return
          throw error
        }
        await syncDirectory(folder)
      }),

    async setAside(id, reason) {
      needWay()
      const file = fileOf(id)
      const stamp = stampAt(file)
      if (stamp === null) return
      mayChange()
      await reject([{ file, stamp, reason }])
    },
  }
}

/** What the system says of a file, for the one who must mend it. */
async function writing(file: string, work: (file: string) => Promise<void>): Promise<void> {
  try {
    await work(file)
  } catch (cause) {
    if (cause instanceof TurnbellError) throw cause
    throw new TurnbellError('store_unavailable', {
      detail: `${file} cannot be written: ${String(cause)}`,
      hint: 'Look at the disk and at who may write there, then call again.',
      cause,
    })
  }
}

async function byItself(work: () => void): Promise<boolean> {
  work()
  return true
}

const directoryMode = (secret: boolean) => (secret ? { mode: 0o700 } : {})
const fileMode = (secret: boolean) => (secret ? { mode: 0o600 } : {})

async function severalAtOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
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
    throw error
  }
}

async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await fs.open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
