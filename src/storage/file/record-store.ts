/**
 * A hub's own records: `<directory>/<kind>/<id>.json`, private, in a directory that no other process writes, unless it
 * has taken it from this one.
 *
 * These are small and rarely written, so every put pays for its own syncs.
 */
import path from 'node:path'
import { codeOf } from './disk.ts'
import { recordName } from './record-file.ts'
import { createRecordFolder, type RejectedRecord } from './record-folder.ts'
import { writing } from './refusal.ts'
import { syncDirectory } from './sync-directory.ts'
import type { HeldRecords, RecordStore } from '../../ports/record-store.ts'
import { heldInOrder } from '../held-in-order.ts'
import { settledRecords } from '../settled-records.ts'
import { createTurns } from '../turns.ts'

export interface RecordStoreOptions {
  directory: string
  /** A file that is no record was moved out of the way, or could not be and is passed over. */
  onRejected?: (notice: RejectedRecord) => void
  /**
   * Throws once another process has the directory, and where nobody can tell. Asked again at the last moment before a file
   * changes.
   */
  mayChange?: () => void
}

const REJECTED = 'rejected'

export function createFileRecordStore(options: RecordStoreOptions): RecordStore {
  const { directory, onRejected = () => {}, mayChange = () => {} } = options
  const turns = createTurns()
  const folders = new Map<string, HeldRecords>()

  const whileOurs = async (work: () => Promise<void>): Promise<boolean> => {
    mayChange()
    await work()
    return true
  }

  const folderOf = (kind: string): HeldRecords => {
    const known = folders.get(kind)
    if (known !== undefined) return known
    const name = recordName(kind)
    if (name === REJECTED) throw new Error(`records of the kind ${REJECTED} would stand among the rejected`)
    const folder = path.join(directory, name)
    const records = createRecordFolder({
      ...{
        kind,
        folder,
        form: 'wrapped',
        secret: true,
        edited: false,
        onRejected,
        mayChange,
        alone: whileOurs,
      },
      rejected: path.join(directory, REJECTED, name),
    })
    const settled = settledRecords(records, () => syncWay(folder))
    folders.set(kind, settled)
    return settled
  }

  return {
    async put(kind, id, body) {
      const folder = folderOf(kind)
      // As it is now: the caller may change it while the put waits for its turn.
      const copy = structuredClone(body)
      return turns.one(kind, id, () => folder.put(id, copy))
    },
    get: async (kind, id) => turns.one(kind, id, () => folderOf(kind).get(id)),
    list: async (kind) => folderOf(kind).list(),
    remove: async (kind, id) => turns.one(kind, id, () => folderOf(kind).remove(id)),
    setAside: async (kind, id, reason) => turns.one(kind, id, () => folderOf(kind).setAside(id, reason)),
    exclusive: async (kind, work) => turns.alone(kind, () => heldInOrder(folderOf(kind), work)),
  }
}

/** The names in a folder, its own, and that of the folder it is in; each may not be there yet. */
async function syncWay(folder: string): Promise<void> {
  const above = path.dirname(folder)
  for (const one of [folder, above, path.dirname(above)]) {
    await writing(one, async () => {
      try {
        await syncDirectory(one)
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error
      }
    })
  }
}
