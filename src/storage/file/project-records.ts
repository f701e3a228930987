/**
 * A project's records: `<root>/.turnbell/records/<kind>/<id>.json`, plain files for people, jq and git.
 *
 * Others write here, too: a second hub, a kernel inside a client's own process, editors, git. Turnbell's
 * processes take turns by a lock on each kind; the rest is noticed at the next read, because nothing is
 * remembered that the files do not confirm.
 */
import fs from 'node:fs/promises'
import path from 'node:path'
import { recordName } from './record-file.ts'
import { foldersTo, needPlaceForLock, needPlainFolders } from './plain-folders.ts'
import { createRecordFolder, type RejectedRecord } from './record-folder.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { HeldRecords, RecordStore } from '../../ports/record-store.ts'
import { underBriefLock } from '../../system/brief-lock.ts'
import { createTurns } from '../turns.ts'
import { codeOf } from './disk.ts'
import { ensureProjectFolder, projectFolder } from './project-folder.ts'

export interface ProjectRecordOptions {
  /** The project's own directory, which must exist by the time something is put. */
  root: string
  onRejected?: (notice: RejectedRecord) => void
  /** Only tests bring their own. */
  pause?: (ms: number) => Promise<unknown>
}

interface Folder {
  path: string
  lock: string
  on_the_way: readonly string[]
  records: HeldRecords
  /** Whether the lock on it is still this store's; asked before every change. */
  mine: () => boolean
}

/** Held for a few writes; others that wait try about as often as one takes. */
const LOCK_TRY_MS = 5

export function openProjectRecords(options: ProjectRecordOptions): RecordStore {
  const { root, onRejected = () => {} } = options
  const inside = projectFolder(root)
  const turns = createTurns()
  const folders = new Map<string, Folder>()

  const folderOf = (kind: string): Folder => {
    const known = folders.get(kind)
    if (known !== undefined) return known
    const place = path.join(inside, 'records', recordName(kind))
    const rejected = path.join(inside, 'rejected', recordName(kind))
    const on_the_way = [...new Set([...foldersTo(root, place), ...foldersTo(root, rejected)])]
    const records = createRecordFolder({
      ...{ kind, folder: place, form: 'plain', secret: false, edited: true, onRejected },
      ...{ rejected, on_the_way },
      alone: (work) => aloneNow(folder, work),
      mayChange() {
        if (!folder.mine()) throw lost(place)
      },
      ...(options.pause === undefined ? {} : { pause: options.pause }),
    })
    const folder: Folder = {
      path: place,
      lock: path.join(place, '.lock'),
      on_the_way,
      records,
      mine: () => false,
    }
    folders.set(kind, folder)
    return folder
  }

  const exclusive = async <T>(kind: string, work: (records: HeldRecords) => Promise<T>): Promise<T> => {
    const folder = folderOf(kind)
    return turns.alone(kind, async () => {
      needPlainFolders(folder.on_the_way)
      await prepare(root, folder.path)
      needPlaceForLock(folder.lock)
      const busy = `${folder.path} is being written`
      const lock = { lock: folder.lock, busy, try_ms: LOCK_TRY_MS }
      return underBriefLock(lock, async (stillMine) => {
        folder.mine = stillMine
        return work(folder.records)
      }).catch((error: unknown) => {
        throw explained(error, folder.path)
      })
    })
  }

  return {
    put: async (kind, id, body) => {
      // As it is now: the caller may change it while the put waits for its turn.
      const copy = structuredClone(body)
      return exclusive(kind, (records) => records.put(id, copy))
    },
    get: async (kind, id) => turns.one(kind, id, () => folderOf(kind).records.get(id)),
    list: async (kind) => folderOf(kind).records.list(),
    remove: async (kind, id) => exclusive(kind, (records) => records.remove(id)),
    setAside: async (kind, id, reason) => exclusive(kind, (records) => records.setAside(id, reason)),
    exclusive,
  }
}

/** Nobody who only reads waits for the lock, nor would it ever be given to a reader within the work of its holder. */
async function aloneNow({ lock, path: folder, mine }: Folder, work: () => void): Promise<boolean> {
  if (mine()) {
    work()
    return true
  }
  needPlaceForLock(lock)
  try {
    await underBriefLock({ lock, busy: `${folder} is being written`, patience_ms: 0 }, work)
    return true
  } catch (error) {
    if (error instanceof TurnbellError && error.code === 'already_running') return false
    // The folder has gone, and what was bad with it.
    if (codeOf(error) === 'ENOENT') return true
    throw error
  }
}

async function prepare(root: string, folder: string): Promise<void> {
  try {
    await ensureProjectFolder(root)
    await fs.mkdir(folder, { recursive: true })
  } catch (cause) {
    throw new TurnbellError('store_unavailable', {
      detail: `${projectFolder(root)} cannot be made: ${String(cause)}`,
      hint: 'The project must be an existing directory that you may write in.',
      cause,
    })
  }
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
