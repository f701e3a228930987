/**
 * The records of one kind: a folder with a JSON file for each. A file's name is made from the id so that it
 * is safe on every file system; what the id really is, the file says.
 *
 * Nobody's turn is kept here, and no lock: that is up to whoever holds the folder.
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
import { setImmediate as breathe, setTimeout as wait } from 'node:timers/promises'
import { isDeepStrictEqual, promisify } from 'node:util'
import { needPlainFolders } from './plain-folders.ts'
import { recordName, recordText, type RecordForm } from './record-file.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { Ulid } from '../../contracts/ids.ts'
import type { HeldRecords, RecordRow } from '../../ports/record-store.ts'
import type { Unread } from '../../ports/project-store.ts'
import { codeOf } from './disk.ts'
import { unreadable, writing } from './refusal.ts'
import { syncDirectory, syncMade } from './sync-directory.ts'
import { lookAt, RECORD_ENDING, stampAt, stampOf, type RecordLook } from './record-look.ts'
import {
  grouped,
  keepCopy,
  rejectFile,
  replaceFile,
  type BadFile,
  type RejectedRecord,
} from './rejected-records.ts'

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
  /** See `LookOptions`. */
  stable_ids?: boolean
  /** Files with the same reason are one notice with a count. */
  group_notices?: boolean
  /** The name of a file in the folder that is no record. */
  beside?: string
  onRejected: (notice: RejectedRecord) => void
  /** Folders that others may have made. Nothing is looked at or done where one of them is a link. */
  on_the_way?: readonly string[]
  /**
   * Does this while no other process writes the folder. False where one does, and then it was not done.
   * Throws a refusal where that cannot be known.
   */
  alone?: (work: () => Promise<void>) => Promise<boolean>
  /** Asked before a put writes anything, and right before a file appears, changes or goes; throws where it must not. */
  mayChange?: () => void
  /** Only tests bring their own. */
  pause?: (ms: number) => Promise<unknown>
}

const READS_AT_ONCE = 32
/** So many looks at a stamp take a millisecond, which is as long as everybody else may wait. */
const STAMPS_AT_ONCE = 128

/** So many are moved at one go. */
const REJECTS_AT_ONCE = 32

export interface RecordFolder extends HeldRecords {
  /**
   * The same for one work that reads and then writes. A record that others have changed since the work last read it is not
   * written over, nor removed: that throws `store_unavailable`.
   */
  forWork(): HeldRecords
  /** What the last list found to be no record, and left where it is. */
  unread(): Unread[]
}

/** A file as the last list found it; it has a row, or is no record and stays, for that reason. */
interface Kept {
  stamp: string
  stamp_holds: boolean
  row: RecordRow | null
  reason?: string
}

/** The stamp of each file as a work has last read or written it; null where nobody minds. */
type Seen = Map<string, string> | null

/** What a list has to do something about. */
interface Found {
  bad: BadFile[]
  merged: (BadFile & { row: RecordRow })[]
}

const MERGED = 'it holds both sides of a merge, which were put together; this is how it was'

export function createRecordFolder(options: RecordFolderOptions): RecordFolder {
  const { kind, folder, form, secret, pause = wait, mayChange = () => {}, on_the_way = [] } = options
  const { alone = byItself, onRejected, beside, stable_ids = false, group_notices = false } = options
  const modes = secret ? { folder: 0o700, file: 0o600 } : {}
  const fileOf = (id: string) => path.join(folder, `${recordName(id)}${RECORD_ENDING}`)
  const look = (file: string) => lookAt(file, { kind, form, edited: options.edited, stable_ids, pause })
  const needWay = () => needPlainFolders(on_the_way)
  const mayBeForeign = (id: string) => stable_ids && Ulid.safeParse(id).success
  let kept = new Map<string, Kept>()
  /** Files whose put has a draft beside them. */
  const putting = new Set<string>()

  /** Answers those that stay where they are for good. Where somebody else is at it, a later look finds them again. */
  const reject = async (bad: readonly BadFile[]): Promise<BadFile[]> => {
    const staying: BadFile[] = []
    const notices: RejectedRecord[] = []
    const rejecting = { ...options, modes, onRejected: (notice: RejectedRecord) => void notices.push(notice) }
    for (let at = 0; at < bad.length; at += REJECTS_AT_ONCE) {
      const some = bad.slice(at, at + REJECTS_AT_ONCE)
      try {
        await alone(async () => {
          needWay()
          staying.push(...some.filter((one) => !rejectFile(rejecting, one)))
        })
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        for (const { file, reason } of some) notices.push({ file, kept_in: null, reason })
        staying.push(...some)
      }
    }
    for (const notice of group_notices ? grouped(notices) : notices) onRejected(notice)
    return staying
  }

  /** Reads a file for a list, and notes what the next one need not read again. */
  const readListed = async (name: string, notes: Map<string, Kept>, found: Found): Promise<void> => {
    const file = path.join(folder, name)
    const seen = await look(file)
    if (seen === null) return
    const { stamp, stamp_holds, record } = seen
    if ('reason' in record) {
      const { reason, stays = false } = record
      if (!stays) return void found.bad.push({ file, stamp, reason })
      notes.set(name, { stamp, stamp_holds, row: null, reason })
      if (kept.get(name)?.stamp !== stamp) onRejected({ file, kept_in: null, reason })
      return
    }
    const { merged, ...row } = record
    notes.set(name, { stamp, stamp_holds, row })
    if (merged === true) found.merged.push({ file, stamp, reason: MERGED, row })
  }

  /**
   * Where somebody else is at it, or nothing can be written, it is read as it was put together. A put that has begun here
   * keeps both sides itself, before it takes their place.
   */
  const writeAnew = async (merged: Found['merged'], notes: Map<string, Kept>): Promise<void> => {
    if (merged.length === 0) return
    try {
      await alone(async () => {
        needWay()
        for (const { row, ...one } of merged.filter(({ file }) => !putting.has(file))) {
          const stamp = replaceFile({ ...options, modes }, one, recordText(form, kind, row.id, row.body))
          if (stamp !== null) notes.set(path.basename(one.file), { stamp, stamp_holds: false, row })
        }
      })
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
    }
  }

  /** What two sides have made of it is not lost where something else takes its place. */
  const keepConflict = async (file: string): Promise<void> => {
    // As it is now: whoever is still at it has no time left.
    const seen = options.edited ? await lookAt(file, { kind, form, edited: false, stable_ids, pause }) : null
    if (seen === null) return
    const { record } = seen
    if ('id' in record ? record.merged !== true : record.stays !== true) return
    needWay()
    mayChange()
    keepCopy(
      { ...options, modes },
      { file, stamp: seen.stamp, reason: 'id' in record ? MERGED : record.reason },
    )
  }

  /** What was read says the same as what an earlier list answered: then it is that. */
  const asBefore = (name: string, note: Kept): Kept => {
    const before = kept.get(name)?.row ?? null
    return before !== null && before !== note.row && isDeepStrictEqual(before, note.row)
      ? { ...note, row: before }
      : note
  }

  /** The file of a record whose id is foreign: it has that id as its name. Null if there is none. */
  const foreignFile = async (id: string): Promise<string | null> => {
    if (!mayBeForeign(id)) return null
    for (const name of await namesIn(folder)) {
      if (!name.endsWith(RECORD_ENDING) || name === beside) continue
      if (Ulid.safeParse(name.slice(0, -RECORD_ENDING.length)).success) continue
      const file = path.join(folder, name)
      const note = kept.get(name)
      const same = note?.stamp_holds === true && stampAt(file) === note.stamp
      if (same ? note.row?.id === id : idIn(await look(file)) === id) return file
    }
    return null
  }

  const view = (seen: Seen): HeldRecords => ({
    put: (id, body) =>
      writing(fileOf(id), async (file) => {
        needWay()
        mayChange()
        const former = await foreignFile(id)
        const text = recordText(form, kind, id, body)
        const made = await fs.mkdir(folder, { recursive: true, ...directoryMode(secret) })
        if (made !== undefined) await syncMade(made, folder)
        const draft = `${file}.new`
        needWay()
        mayChange()
        // What stands there may be a link, and would be written through.
        rmSync(draft, { recursive: true, force: true })
        const fd = openSync(draft, 'wx', modes.file)
        putting.add(file)
        try {
          writeFileSync(fd, text)
          await synced(fd)
          needUnchanged(seen, file)
          await keepConflict(file)
          needWay()
          mayChange()
          // Somebody who stood still may have begun a draft of their own in this place.
          if (statSync(draft).ino !== fstatSync(fd).ino) throw new Error('another process writes there')
          // In one go, as a file is rejected: what has just been put is never taken for what was there before.
          needUnchanged(seen, file)
          if (former !== null) needUnchanged(seen, former)
          renameSync(draft, file)
          seen?.set(file, stampOf(fstatSync(fd)))
          if (former !== null) rmSync(former, { force: true })
        } finally {
          putting.delete(file)
          closeSync(fd)
        }
        await syncDirectory(folder)
      }),

    async get(id) {
      needWay()
      const file = fileOf(id)
      const found = await look(file)
      if (found === null) {
        const foreign = await foreignFile(id)
        const other = foreign === null ? null : await look(foreign)
        if (foreign === null || other === null || !('id' in other.record)) return null
        seen?.set(foreign, other.stamp)
        return other.record.body
      }
      const { stamp, record } = found
      if ('id' in record) {
        seen?.set(file, stamp)
        return record.body
      }
      if (record.stays !== true) await reject([{ file, stamp, reason: record.reason }])
      return null
    },

    async list() {
      needWay()
      const notes = new Map<string, Kept>()
      const unread: string[] = []
      const found: Found = { bad: [], merged: [] }
      const names = (await namesIn(folder)).filter((name) => name.endsWith(RECORD_ENDING) && name !== beside)
      for (const [index, name] of names.entries()) {
        if (index % STAMPS_AT_ONCE === STAMPS_AT_ONCE - 1) await breathe()
        const known = kept.get(name)
        const same = known?.stamp_holds === true && stampAt(`${folder}${path.sep}${name}`) === known.stamp
        if (same) notes.set(name, known)
        else unread.push(name)
      }
      await severalAtOnce(unread, (name) => readListed(name, notes, found))
      await writeAnew(found.merged, notes)
      for (const { file, stamp, reason } of await reject(found.bad)) {
        notes.set(path.basename(file), { stamp, stamp_holds: true, row: null, reason })
      }
      // Another list may have ended meanwhile, and what it answered stands.
      for (const [name, note] of notes) notes.set(name, asBefore(name, note))
      kept = notes
      seen?.clear()
      for (const [name, { stamp }] of notes) seen?.set(path.join(folder, name), stamp)
      return rowsOf(notes).sort((a, b) => (a.id < b.id ? -1 : 1))
    },

    remove: (id) =>
      writing(fileOf(id), async (named) => {
        const foreign = await foreignFile(id)
        // Whoever took it away has done what was wanted.
        const files = [named, ...(foreign === null ? [] : [foreign])].filter((file) => stampAt(file) !== null)
        for (const file of files) {
          needUnchanged(seen, file)
          await keepConflict(file)
          needWay()
          mayChange()
          try {
            needUnchanged(seen, file)
            unlinkSync(file)
          } catch (error) {
            if (codeOf(error) === 'ENOENT') continue
            throw error
          }
          seen?.delete(file)
          await syncDirectory(folder)
        }
      }),

    async setAside(id, reason) {
      needWay()
      const named = fileOf(id)
      const file = stampAt(named) === null ? ((await foreignFile(id)) ?? named) : named
      const stamp = seen?.get(file) ?? stampAt(file)
      if (stamp === null) return
      mayChange()
      await reject([{ file, stamp, reason }])
      seen?.delete(file)
    },
  })

  return {
    ...view(null),
    forWork: () => view(new Map()),
    unread: () =>
      [...kept].flatMap(([name, { reason }]) =>
        reason === undefined ? [] : [{ file: path.join(folder, name), reason }],
      ),
  }
}

/** One row for each id. A file that was changed under its ULID counts before one that still has the foreign id. */
function rowsOf(notes: ReadonlyMap<string, Kept>): RecordRow[] {
  const rows = new Map<string, RecordRow>()
  for (const [name, { row }] of notes) {
    if (row === null) continue
    if (!rows.has(row.id) || name === `${row.id}${RECORD_ENDING}`) rows.set(row.id, row)
  }
  return [...rows.values()]
}

function idIn(found: RecordLook | null): string | null {
  return found !== null && 'id' in found.record ? found.record.id : null
}

function needUnchanged(seen: Seen, file: string): void {
  const before = seen?.get(file)
  if (before === undefined || stampAt(file) === before) return
  throw new TurnbellError('store_unavailable', {
    detail: `${file} was changed by somebody else since it was read`,
    hint: 'What they wrote was left as it is; call again.',
  })
}

async function byItself(work: () => Promise<void>): Promise<boolean> {
  await work()
  return true
}

const synced = promisify(fsync)

const directoryMode = (secret: boolean) => (secret ? { mode: 0o700 } : {})

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
    throw unreadable(folder, error)
  }
}
