/** The order in which the records of one file are read and written by those who hold them. */
import { createLine, createTogether, type Line } from '../together.ts'
import type { Change, PlacedRecords } from './record-place.ts'
import type { RecordBody, RecordRow } from '../../ports/record-store.ts'

export interface PlacedWork {
  changeTo: (id: string, body: RecordBody | null) => Change
  /** Called for one group of changes at a time. */
  write: (changes: readonly Change[]) => Promise<void>
  find: (id: string) => Promise<RecordRow | null> | RecordRow | null
  /** What it changes itself goes through the line. */
  list: (line: Line) => Promise<readonly RecordRow[]>
}

export function createPlaced({ changeTo, write, find, list }: PlacedWork): PlacedRecords {
  const line = createLine()
  const together = createTogether<Change>((take) => line.next(() => write(take())))
  return {
    changeTo,
    async write(changes) {
      await Promise.all(changes.map((change) => together.add(change)))
    },
    over: () => line.over(),
    put: async (id, body) => together.add(changeTo(id, body)),
    remove: async (id) => together.add({ id, text: null }),
    setAside: async (id, reason) => together.add({ id, text: null, reason }),
    async get(id) {
      // What is asked for later is done later.
      together.seal()
      return structuredClone((await line.next(() => find(id)))?.body ?? null)
    },
    list: () => list(line),
  }
}
