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

  /** `mayChange` throws at the last moment. Answers what to call once it is synced. */
  async change(
    kind: string,
    id: string,
    mayChange: () => void,
    how: (store: RecordStore) => Promise<void>,
  ): Promise<() => void> {
    const change = { kind, id, before: await this.store.get(kind, id) }
    mayChange()
    this.unsynced.push(change)
    await how(this.store)
    // With it goes what came before in its folder, also where that one's own sync has failed.
    return () => {
      const until = this.unsynced.indexOf(change)
      this.unsynced = this.unsynced.filter((one, at) => one.kind !== kind || at > until)
    }
  }

  /** The folder of a kind is being synced: answers what to call once it is. What is changed meanwhile is not. */
  settling(kind: string): () => void {
    const own = new Set(this.unsynced.filter((one) => one.kind === kind))
    return () => void (this.unsynced = this.unsynced.filter((one) => !own.has(one)))
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
