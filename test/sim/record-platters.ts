/** The records on a machine's disk, whatever becomes of processes; a power cut may take what was not synced. */
import type { RecordBody, RecordStore } from '../../src/ports/record-store.ts'
import { createMemoryRecordStore } from '../../src/storage/memory/record-store.ts'
import type { Dice } from '../support/dice.ts'

/** What was done to one record, as long as a power cut can undo it. */
interface Change {
  kind: string
  id: string
  before: RecordBody | null
}

export class RecordPlatters {
  readonly store = createMemoryRecordStore()
  private unsynced: Change[] = []

  /** Answers what to call once it is synced. */
  async change(kind: string, id: string, how: (store: RecordStore) => Promise<void>): Promise<() => void> {
    const change = { kind, id, before: await this.store.get(kind, id) }
    await how(this.store)
    this.unsynced.push(change)
    // With it goes what came before, also where that one's own sync has failed.
    return () => void (this.unsynced = this.unsynced.slice(this.unsynced.indexOf(change) + 1))
  }

  /** From some change on nothing of what was not synced is there: a file system keeps the order of what is done to names. */
  async cutPower(dice: Dice): Promise<void> {
    const lost = this.unsynced.slice(dice.between(0, this.unsynced.length))
    this.unsynced = []
    for (const { kind, id, before } of lost.reverse()) {
      if (before === null) await this.store.remove(kind, id)
      else await this.store.put(kind, id, before)
    }
  }
}
