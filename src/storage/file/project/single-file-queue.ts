/** Orders reads and writes of the records in one file. */
import { createWriteBatch } from '../records/write-batch.ts'
import type { Change, SingleFileRecords } from './single-file-records.ts'
import { createSerialQueue, type SerialQueue } from '../../../ports/serial-queue.ts'
import type { RecordBody, RecordRow } from '../../../ports/record-store.ts'

export interface SingleFileWork {
  changeTo: (id: string, body: RecordBody | null) => Change
  /** Writes one batch of changes; calls do not overlap. */
  write: (changes: readonly Change[]) => Promise<void>
  find: (id: string) => Promise<RecordRow | null> | RecordRow | null
  /** Lists records. If it changes the file, it must do so through the queue. */
  list: (enqueue: SerialQueue) => Promise<readonly RecordRow[]>
}

export function createSingleFileQueue({ changeTo, write, find, list }: SingleFileWork): SingleFileRecords {
  const enqueue = createSerialQueue()
  const together = createWriteBatch<Change>((take) => enqueue(() => write(take())))
  return {
    changeTo,
    async write(changes) {
      await Promise.all(changes.map((change) => together.add(change)))
    },
    idle: () => enqueue(() => undefined),
    put: async (id, body) => together.add(changeTo(id, body)),
    remove: async (id) => together.add({ id, text: null }),
    quarantine: async (id, reason) => together.add({ id, text: null, reason }),
    async get(id) {
      // Changes requested later must run after this read.
      together.seal()
      return structuredClone((await enqueue(() => find(id)))?.body ?? null)
    },
    list: () => list(enqueue),
  }
}
