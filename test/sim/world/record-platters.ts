/** The records on a machine's disk, independent of processes. A power cut may undo unsynced changes. */
import type { RecordBody, RecordStore } from '../../../src/ports/record-store.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import type { Dice } from '../../support/dice.ts'

/** A change to one record that a power cut can still undo. */
interface Change {
  kind: string
  id: string
  before: RecordBody | null
}

export class RecordPlatters {
  readonly store = createMemoryRecordStore()
  private unsynced: Change[] = []

  /** `mayChange` is called right before the change and may throw. Returns a function to call after the sync. */
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
    // This sync also persists earlier changes in the same folder, even if their own sync failed.
    return () => {
      const until = this.unsynced.indexOf(change)
      this.unsynced = this.unsynced.filter((one, at) => one.kind !== kind || at > until)
    }
  }

  /**
   * Called when the sync of a kind's folder starts. Returns a function to call when it is done; changes made in between
   * are not covered.
   */
  settling(kind: string): () => void {
    const own = new Set(this.unsynced.filter((one) => one.kind === kind))
    return () => void (this.unsynced = this.unsynced.filter((one) => !own.has(one)))
  }

  /** Discards all unsynced changes from a random point on: a file system preserves the order of directory changes. */
  async cutPower(dice: Dice): Promise<void> {
    const lost = this.unsynced.slice(dice.between(0, this.unsynced.length))
    this.unsynced = []
    for (const { kind, id, before } of lost.reverse()) {
      if (before === null) await this.store.remove(kind, id)
      else await this.store.put(kind, id, before)
    }
  }
}
