/**
 * The hub's own records: `<directory>/<kind>/<id>.json`, private, in a directory that only the owning process writes.
 *
 * Records are small and rarely written, so every put does its own syncs.
 */
import path from 'node:path'
import { codeOf } from '../journal/disk.ts'
import { recordName } from './record-file.ts'
import type { QuarantineNotice } from './quarantine-file.ts'
import { RecordFolder } from './record-folder.ts'
import { withWriteErrors } from '../journal/disk-errors.ts'
import { syncDirectory } from '../journal/sync-directory.ts'
import type { KindRecords, RecordStore } from '../../../ports/record-store.ts'
import { withOrderedWrites } from './ordered-writes.ts'
import { durableRecords } from './durable-reads.ts'
import { createRecordQueue } from './record-queue.ts'

export interface RecordStoreOptions {
  directory: string
  /** Called when an invalid file was quarantined, or could not be and is ignored. */
  onRejected?: (notice: QuarantineNotice) => void
  /**
   * Throws if another process owns the directory, or if the owner cannot be determined. Called again right before a file
   * changes.
   */
  mayChange?: () => void
}

const REJECTED = 'rejected'

export function createFileRecordStore(options: RecordStoreOptions): RecordStore {
  const { directory, onRejected = () => {}, mayChange = () => {} } = options
  const queue = createRecordQueue()
  const folders = new Map<string, KindRecords>()

  const whileOwned = async (work: () => Promise<void>): Promise<boolean> => {
    mayChange()
    await work()
    return true
  }

  const folderOf = (kind: string): KindRecords => {
    const existing = folders.get(kind)
    if (existing !== undefined) return existing
    const name = recordName(kind)
    if (name === REJECTED) throw new Error(`the kind ${REJECTED} would use the quarantine folder`)
    const folder = path.join(directory, name)
    const records = new RecordFolder({
      kind,
      folder,
      rejected: path.join(directory, REJECTED, name),
      form: 'wrapped',
      edited: false,
      onRejected,
      mayChange,
      exclusively: whileOwned,
    })
    const durable = durableRecords(records, () => syncPath(folder))
    folders.set(kind, durable)
    return durable
  }

  return {
    async put(kind, id, body) {
      const folder = folderOf(kind)
      // Copied, because the caller may change the body while the put is queued.
      const copy = structuredClone(body)
      return queue.perKey(kind, id, () => folder.put(id, copy))
    },
    get: async (kind, id) => queue.perKey(kind, id, () => folderOf(kind).get(id)),
    list: async (kind) => folderOf(kind).list(),
    remove: async (kind, id) => queue.perKey(kind, id, () => folderOf(kind).remove(id)),
    quarantine: async (kind, id, reason) =>
      queue.perKey(kind, id, () => folderOf(kind).quarantine(id, reason)),
    exclusive: async (kind, work) => queue.exclusive(kind, () => withOrderedWrites(folderOf(kind), work)),
  }
}

/** Makes the names in a folder durable, and those of the folder and its parent. Each may be missing. */
async function syncPath(folder: string): Promise<void> {
  const above = path.dirname(folder)
  for (const one of [folder, above, path.dirname(above)]) {
    await withWriteErrors(one, async () => {
      try {
        await syncDirectory(one)
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error
      }
    })
  }
}
