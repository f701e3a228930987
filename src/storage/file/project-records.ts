/**
 * A project's records: plain files in `<root>/.turnbell` for people, jq and git. `project-layout.ts` says where
 * each kind is.
 *
 * Others write here, too: a second hub, a kernel inside a client's own process, editors, git. Turnbell's
 * processes take turns by a lock on each kind; the rest is noticed at the next read, because nothing is
 * remembered that the files do not confirm.
 */
import fs from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Unread } from '../../ports/project-store.ts'
import type { HeldRecords, RecordBody, RecordStore } from '../../ports/record-store.ts'
import { underBriefLock } from '../../system/brief-lock.ts'
import { heldInOrder } from '../held-in-order.ts'
import { createTogether, type Together } from '../together.ts'
import { createTurns } from '../turns.ts'
import { kindsIn } from './beside-records.ts'
import { codeOf } from './disk.ts'
import { foldersTo, needPlaceForLock, needPlainFolders } from './plain-folders.ts'
import { projectFolder, projectFolderMaker } from './project-folder.ts'
import { placeOf } from './project-layout.ts'
import { createIndexedFolder } from './indexed-folder.ts'
import { createRecordFolder, type RejectedRecord } from './record-folder.ts'
import { createRecordLog } from './record-log.ts'
import { createRecordTable } from './record-table.ts'
import type { Change, PlacedRecords } from './record-place.ts'
import { syncMade } from './sync-directory.ts'
import { trackedLook } from './tracked.ts'

export interface ProjectRecordOptions {
  /** The project's own directory, which must exist by the time something is put. */
  root: string
  onRejected?: (notice: RejectedRecord) => void
  /** Names what somebody wrote into a log or a table by hand without an id; without it, that is set aside. */
  newId?: () => string
  /** Reads an id that is not a ULID as the one of `ports/foreign-id.ts`. */
  stable_ids?: boolean
  /** Files that are quarantined for the same reason are one notice with a count. */
  group_notices?: boolean
  /** Only tests bring their own. */
  pause?: (ms: number) => Promise<unknown>
}

export interface ProjectRecords extends RecordStore {
  /** What is no record and left where it is, of any kind, after a look at all of them. */
  unread(): Promise<Unread[]>
}

/** The records of one kind, and who may change them. */
interface Shelf {
  /** For refusals. */
  path: string
  unread: () => Unread[]
  lock: string
  on_the_way: readonly string[]
  tracked: () => boolean
  records: HeldRecords
  /** The same for one exclusive work. */
  forWork: () => HeldRecords
  /** The same, where several are written at a time. */
  placed: PlacedRecords | null
  /** What is asked for outside of exclusive work. */
  together: Together<Change> | null
  /** What is left to do before the lock is let go of. */
  afterWork: () => Promise<void>
  /** Whether the lock on it is still this store's; asked before every change. */
  mine: () => boolean
}

/** Held for a few writes; others that wait try about as often as one takes. */
const LOCK_TRY_MS = 5

export function openProjectRecords(options: ProjectRecordOptions): ProjectRecords {
  const { root, onRejected = () => {}, newId, pause = wait } = options
  const { stable_ids = false, group_notices = false } = options
  const inside = projectFolder(root)
  const ensureFolder = projectFolderMaker(root)
  const turns = createTurns()
  const shelves = new Map<string, Shelf>()

  const makeShelf = (kind: string): Shelf => {
    const place = placeOf(kind)
    const at = path.join(inside, place.at)
    const rejected = path.join(inside, place.rejected)
    const isFile = place.form === 'log' || place.form === 'table'
    const folders = [at, rejected].map((one) => (isFile ? path.dirname(one) : one))
    const on_the_way = [...new Set(folders.flatMap((folder) => foldersTo(root, folder)))]
    const tracked = trackedLook(at)
    const common = {
      ...{ kind, rejected, on_the_way, onRejected, pause, tracked, stable_ids, group_notices },
      async alone(work: (mayChange: () => void) => Promise<void>) {
        if (tracked()) throw staysTracked(at)
        return aloneNow(shelf, work)
      },
      mayChange() {
        if (!shelf.mine()) throw lost(at)
      },
    }
    const asFile = { ...common, file: at, ...(newId === undefined ? {} : { newId }) }
    const log = place.form === 'log' ? createRecordLog(asFile) : null
    const placed = place.form === 'table' ? createRecordTable(asFile) : log
    const asFiles = { ...common, folder: at, secret: false, edited: true }
    const indexed = place.form === 'indexed' ? createIndexedFolder({ ...asFiles, form: 'bare' }) : null
    const folder = isFile ? null : (indexed ?? createRecordFolder({ ...asFiles, form: 'plain' }))
    const records = (placed ?? folder) as HeldRecords
    const forWork = () => folder?.forWork() ?? records
    const afterWork = async () => placed?.over() ?? indexed?.afterWork()
    const together =
      placed === null ? null : createTogether<Change>((take) => exclusive(kind, () => placed.write(take())))
    const lock = isFile ? `${at}.lock` : path.join(at, '.lock')
    const shelf: Shelf = {
      path: at,
      unread: () => (log ?? folder)?.unread() ?? [],
      lock,
      on_the_way,
      tracked,
      records,
      forWork,
      placed,
      together,
      afterWork,
      mine: () => false,
    }
    return shelf
  }

  const shelfOf = (kind: string): Shelf => {
    const known = shelves.get(kind) ?? makeShelf(kind)
    shelves.set(kind, known)
    return known
  }

  const exclusive = async <T>(kind: string, work: (records: HeldRecords) => Promise<T>): Promise<T> => {
    const shelf = shelfOf(kind)
    return turns.alone(kind, async () => {
      needPlainFolders(shelf.on_the_way)
      await prepare(root, ensureFolder, path.dirname(shelf.lock))
      needPlaceForLock(shelf.lock)
      const busy = `${shelf.path} is being written`
      const lock = { lock: shelf.lock, busy, try_ms: LOCK_TRY_MS }
      return underBriefLock(lock, async (stillMine) => {
        shelf.mine = stillMine
        return held(shelf, work)
      }).catch((error: unknown) => {
        throw explained(error, shelf.path)
      })
    })
  }

  /** Together with what else is asked for until its turn has come, where one write can take that. */
  const change = async (kind: string, id: string, body: RecordBody | null): Promise<void> => {
    const { placed, together } = shelfOf(kind)
    if (placed !== null && together !== null) return together.add(placed.changeTo(id, body))
    // As it is now: the caller may change it while the put waits for its turn.
    const copy = structuredClone(body)
    return exclusive(kind, (records) => (copy === null ? records.remove(id) : records.put(id, copy)))
  }

  /** What was asked for before comes before, what is asked for later comes later. */
  const sealed = async <T>(kind: string, work: (records: HeldRecords) => Promise<T>): Promise<T> => {
    shelfOf(kind).together?.seal()
    return exclusive(kind, work)
  }

  return {
    put: change,
    remove: (kind, id) => change(kind, id, null),
    async get(kind, id) {
      const { records, together } = shelfOf(kind)
      together?.seal(id)
      return turns.one(kind, id, () => records.get(id))
    },
    list: async (kind) => shelfOf(kind).records.list(),
    setAside: (kind, id, reason) => sealed(kind, (records) => records.setAside(id, reason)),
    exclusive: sealed,
    readersMayWrite: (kind) => !shelfOf(kind).tracked(),
    async unread() {
      const found: Unread[] = []
      for (const kind of await kindsIn(root)) {
        const shelf = shelfOf(kind)
        try {
          await shelf.records.list()
          found.push(...shelf.unread())
        } catch (error) {
          if (!(error instanceof TurnbellError)) throw error
          found.push({ file: shelf.path, reason: error.detail })
        }
      }
      return found
    },
  }
}

async function held<T>(shelf: Shelf, work: (records: HeldRecords) => Promise<T>): Promise<T> {
  try {
    return shelf.placed === null ? await heldInOrder(shelf.forWork(), work) : await work(shelf.placed)
  } finally {
    await shelf.afterWork()
  }
}

/** Nobody who only reads waits for the lock, nor would it ever be given to a reader within the work of its holder. */
async function aloneNow(shelf: Shelf, work: (mayChange: () => void) => Promise<void>): Promise<boolean> {
  const { lock, path: at, mine } = shelf
  if (mine()) return doneWhile(mine, at, work)
  needPlaceForLock(lock)
  try {
    const once = { lock, busy: `${at} is being written`, patience_ms: 0 }
    return await underBriefLock(once, (stillMine) => doneWhile(stillMine, at, work))
  } catch (error) {
    if (error instanceof TurnbellError && error.code === 'already_running') return false
    // The folder for the lock has gone, and what was bad with it.
    if (codeOf((error as Error).cause) === 'ENOENT') return true
    throw error
  }
}

/** False where the lock was gone before the work was over: the work of its holder may have ended meanwhile. */
async function doneWhile(
  mine: () => boolean,
  at: string,
  work: (mayChange: () => void) => Promise<void>,
): Promise<boolean> {
  try {
    await work(() => {
      if (!mine()) throw lost(at)
    })
    return true
  } catch (error) {
    if (error instanceof TurnbellError && !mine()) return false
    throw error
  }
}

async function prepare(root: string, ensureFolder: () => Promise<void>, folder: string): Promise<void> {
  try {
    await ensureFolder()
    const made = await fs.mkdir(folder, { recursive: true })
    if (made !== undefined) await syncMade(made, folder)
  } catch (cause) {
    if (cause instanceof TurnbellError) throw cause
    throw new TurnbellError('store_unavailable', {
      detail: `${projectFolder(root)} cannot be made: ${String(cause)}`,
      hint: 'The project must be an existing directory that you may write in.',
      cause,
    })
  }
}

function staysTracked(at: string): TurnbellError {
  return new TurnbellError('store_unavailable', {
    detail: `git tracks ${at}, and reading does not rewrite it`,
    hint: 'The next change of a record there does.',
  })
}

function lost(folder: string): TurnbellError {
  return new TurnbellError('store_unavailable', {
    detail: `this process stood still while it changed ${folder}, and another one has gone on there`,
    hint: 'Nothing was changed; call again.',
  })
}

/** The lock's own refusals speak of homes and of processes that keep running. */
function explained(error: unknown, folder: string): unknown {
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
    hint: 'The project’s .turnbell must be yours and writable.',
    cause: error,
  })
}
