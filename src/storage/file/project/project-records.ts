/**
 * A project's records: text files in `<root>/.turnbell` for people, jq and git. `project-layout.ts` defines where
 * each kind is.
 *
 * Other programs write here, too: a second hub, a hub embedded in a client, editors, git. Turnbell's processes
 * exclude each other by a lock per kind. Other changes are noticed at the next read, because cached state is always
 * checked against the files.
 */
import fs from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { UnreadableFile } from '../../../ports/project-store.ts'
import type { KindRecords, RecordBody, RecordStore } from '../../../ports/record-store.ts'
import { withShortLock } from '../../../system/files/short-lock.ts'
import { realPath } from '../../../system/files/inside.ts'
import { withOrderedWrites } from '../records/ordered-writes.ts'
import { createWriteBatch, type WriteBatch } from '../records/write-batch.ts'
import { createRecordQueue } from '../records/record-queue.ts'
import { listKinds } from './project-files.ts'
import { codeOf } from '../journal/disk.ts'
import { foldersTo, checkLockPath, checkPlainFolders } from '../records/symlink-guard.ts'
import { projectFolder, projectFolderMaker } from './project-folder.ts'
import { locationOf } from './project-layout.ts'
import { createIndexedFolder } from './indexed-folder.ts'
import type { QuarantineNotice } from '../records/quarantine-file.ts'
import { RecordFolder } from '../records/record-folder.ts'
import { createJsonlRecords } from './jsonl-records.ts'
import { createJsonArrayRecords } from './json-array-records.ts'
import type { Change, SingleFileRecords } from './single-file-records.ts'
import { syncMade } from '../journal/sync-directory.ts'
import { createTrackedCheck } from './tracked.ts'

export interface ProjectRecordOptions {
  /** The project's directory; it must exist before the first put. */
  root: string
  onRejected?: (notice: QuarantineNotice) => void
  /** Creates the id of a record that a person wrote without one. Absent: such records are quarantined. */
  newId?: () => string
  /** Returns an id that is not a ULID as the ULID of `ports/foreign-id.ts`. */
  stable_ids?: boolean
  /** Waits for the given time in milliseconds. Only tests replace it. */
  pause?: (ms: number) => Promise<unknown>
}

export interface ProjectRecords extends RecordStore {
  /** Reads all kinds and returns the invalid files that were left in place. */
  unreadableFiles(): Promise<UnreadableFile[]>
}

/** The records of one kind with their lock. */
interface KindStore {
  /** Path of the records, for errors. */
  path: string
  unreadableFiles: () => UnreadableFile[]
  lock: string
  path_folders: readonly string[]
  tracked: () => boolean
  records: KindRecords
  /** Returns a view of the records for one exclusive work. */
  forWork: () => KindRecords
  /** The same records if they are in one file; null if each has its own. */
  file_records: SingleFileRecords | null
  /** Batches changes outside of exclusive work; null if each record has its own file. */
  batch: WriteBatch<Change> | null
  /** Called before the lock is released. */
  afterWork: () => Promise<void>
  /** Returns whether this store holds the lock; called before every change. */
  ownsLock: () => boolean
}

/** Retry interval for the lock, which is held for a few writes. */
const LOCK_TRY_MS = 5

export function openProjectRecords(options: ProjectRecordOptions): ProjectRecords {
  // Resolved once, so that a link created later is not followed.
  const root = realPath(options.root)
  const ensureFolder = projectFolderMaker(root)
  const queue = createRecordQueue()
  const stores = new Map<string, KindStore>()

  const kindStore = (kind: string): KindStore => {
    const store = stores.get(kind) ?? createKindStore(kind, root, options, (write) => exclusive(kind, write))
    stores.set(kind, store)
    return store
  }

  const exclusive = async <T>(kind: string, work: (records: KindRecords) => Promise<T>): Promise<T> => {
    const store = kindStore(kind)
    return queue.exclusive(kind, async () => {
      checkPlainFolders(store.path_folders)
      await createFolders(root, ensureFolder, path.dirname(store.lock))
      checkLockPath(store.lock)
      const busy = `${store.path} is being written`
      const lock = { lock: store.lock, busy, try_ms: LOCK_TRY_MS }
      return withShortLock(lock, async (stillMine) => {
        store.ownsLock = stillMine
        return runWork(store, work)
      }).catch((error: unknown) => {
        throw toLockError(error, store.path)
      })
    })
  }

  /** Puts or removes one record; concurrent changes of records in one file share a write. */
  const change = async (kind: string, id: string, body: RecordBody | null): Promise<void> => {
    const { file_records, batch } = kindStore(kind)
    if (file_records !== null && batch !== null) return batch.add(file_records.changeTo(id, body))
    // Copied, because the caller may change the body while the put is queued.
    const copy = structuredClone(body)
    return exclusive(kind, (records) => (copy === null ? records.remove(id) : records.put(id, copy)))
  }

  /** Runs exclusive work after all changes requested before it and before all requested later. */
  const sealed = async <T>(kind: string, work: (records: KindRecords) => Promise<T>): Promise<T> => {
    kindStore(kind).batch?.seal()
    return exclusive(kind, work)
  }

  return {
    put: change,
    remove: (kind, id) => change(kind, id, null),
    async get(kind, id) {
      const { records, batch } = kindStore(kind)
      batch?.seal(id)
      return queue.perKey(kind, id, () => records.get(id))
    },
    list: async (kind) => kindStore(kind).records.list(),
    quarantine: (kind, id, reason) => sealed(kind, (records) => records.quarantine(id, reason)),
    exclusive: sealed,
    readersMayWrite: (kind) => !kindStore(kind).tracked(),
    async unreadableFiles() {
      const files: UnreadableFile[] = []
      for (const kind of await listKinds(root)) {
        const store = kindStore(kind)
        try {
          await store.records.list()
          files.push(...store.unreadableFiles())
        } catch (error) {
          if (!(error instanceof TurnbellError)) throw error
          files.push({ file: store.path, reason: error.detail })
        }
      }
      return files
    },
  }
}

/** `writeExclusively` runs a write of the kind's records in one file under the lock. */
function createKindStore(
  kind: string,
  root: string,
  options: ProjectRecordOptions,
  writeExclusively: (write: () => Promise<void>) => Promise<void>,
): KindStore {
  const { onRejected = () => {}, newId, pause = wait, stable_ids = false } = options
  const inside = projectFolder(root)
  const place = locationOf(kind)
  const at = path.join(inside, place.at)
  const rejected = path.join(inside, place.rejected)
  const isFile = place.format === 'log' || place.format === 'table'
  const folders = [at, rejected].map((one) => (isFile ? path.dirname(one) : one))
  const path_folders = [...new Set(folders.flatMap((folder) => foldersTo(root, folder)))]
  const tracked = createTrackedCheck(at)
  const common = {
    kind,
    rejected,
    path_folders,
    onRejected,
    pause,
    tracked,
    stable_ids,
    async exclusively(work: (mayChange: () => void) => Promise<void>) {
      if (tracked()) throw trackedError(at)
      return withLockNow(store, work)
    },
    mayChange() {
      if (!store.ownsLock()) throw lockLostError(at)
    },
  }
  const asFile = { ...common, file: at, ...(newId === undefined ? {} : { newId }) }
  const log = place.format === 'log' ? createJsonlRecords(asFile) : null
  const file_records = place.format === 'table' ? createJsonArrayRecords(asFile) : log
  const asFiles = { ...common, folder: at, edited: true }
  const indexed = place.format === 'indexed' ? createIndexedFolder({ ...asFiles, form: 'bare' }) : null
  const folder = isFile ? null : (indexed ?? new RecordFolder({ ...asFiles, form: 'plain' }))
  const records = (file_records ?? folder) as KindRecords
  const forWork = () => folder?.forWork() ?? records
  const afterWork = async () => file_records?.idle() ?? indexed?.afterWork()
  const batch =
    file_records === null
      ? null
      : createWriteBatch<Change>((take) => writeExclusively(() => file_records.write(take())))
  const lock = isFile ? `${at}.lock` : path.join(at, '.lock')
  const store: KindStore = {
    path: at,
    unreadableFiles: () => (log ?? folder)?.unreadableFiles() ?? [],
    lock,
    path_folders,
    tracked,
    records,
    forWork,
    file_records,
    batch,
    afterWork,
    ownsLock: () => false,
  }
  return store
}

async function runWork<T>(store: KindStore, work: (records: KindRecords) => Promise<T>): Promise<T> {
  try {
    return store.file_records === null
      ? await withOrderedWrites(store.forWork(), work)
      : await work(store.file_records)
  } finally {
    await store.afterWork()
  }
}

/**
 * Runs work of a reader under the lock, without waiting for it: a reader within exclusive work would wait forever.
 * Returns false if another process holds the lock or the lock was lost during the work. Returns true if the folder was
 * removed.
 */
async function withLockNow(
  store: KindStore,
  work: (mayChange: () => void) => Promise<void>,
): Promise<boolean> {
  const { lock, path: at, ownsLock } = store
  if (ownsLock()) return runWhileOwned(ownsLock, at, work)
  checkLockPath(lock)
  try {
    const once = { lock, busy: `${at} is being written`, patience_ms: 0 }
    return await withShortLock(once, (stillMine) => runWhileOwned(stillMine, at, work))
  } catch (error) {
    if (error instanceof TurnbellError && error.code === 'already_running') return false
    // The folder was removed together with the invalid files.
    if (codeOf((error as Error).cause) === 'ENOENT') return true
    throw error
  }
}

/** Runs the work. Returns false if it failed because the lock was lost or released before the work ended. */
async function runWhileOwned(
  ownsLock: () => boolean,
  at: string,
  work: (mayChange: () => void) => Promise<void>,
): Promise<boolean> {
  try {
    await work(() => {
      if (!ownsLock()) throw lockLostError(at)
    })
    return true
  } catch (error) {
    if (error instanceof TurnbellError && !ownsLock()) return false
    throw error
  }
}

async function createFolders(root: string, ensureFolder: () => Promise<void>, folder: string): Promise<void> {
  try {
    await ensureFolder()
    const made = await fs.mkdir(folder, { recursive: true })
    if (made !== undefined) await syncMade(made, folder)
  } catch (cause) {
    if (cause instanceof TurnbellError) throw cause
    throw new TurnbellError('store_unavailable', {
      detail: `${projectFolder(root)} cannot be created: ${String(cause)}`,
      hint: 'Use an existing project directory that you can write to.',
      cause,
    })
  }
}

function trackedError(at: string): TurnbellError {
  return new TurnbellError('store_unavailable', {
    detail: `${at} is tracked by git, so a read does not rewrite it`,
    hint: 'Change a record there; that rewrites it.',
  })
}

function lockLostError(folder: string): TurnbellError {
  return new TurnbellError('store_unavailable', {
    detail: `the change was not made, because this process lost the lock on ${folder} while it was suspended`,
    hint: 'Call again.',
  })
}

/** Converts errors of the lock, whose texts are about homes and running processes. */
function toLockError(error: unknown, folder: string): unknown {
  if (!(error instanceof TurnbellError)) return error
  if (error.code === 'already_running') {
    return new TurnbellError('store_unavailable', {
      detail: error.detail,
      hint: 'Call again in a moment.',
      cause: error,
    })
  }
  if (error.code !== 'home_not_permitted') return error
  return new TurnbellError('store_unavailable', {
    detail: `${folder} cannot be written: ${error.detail}`,
    hint: 'Make the .turnbell folder of the project yours and writable.',
    cause: error,
  })
}
