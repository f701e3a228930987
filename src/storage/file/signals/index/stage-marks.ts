/** Buffers observed stages. They are written with the next commit instead of causing one. */
import type { SignalId } from '../../../../contracts/ids.ts'
import type { Stage } from '../../../../ports/signal-store.ts'
import { entryText, type MarkEntry } from '../../journal/journal-entries.ts'
import type { Journal } from '../../journal/journal.ts'
import type { SignalIndex } from './signal-index.ts'

/** Number of buffered marks at which a commit is started for them. */
const WAITING_MAX = 1000

export class StageMarks {
  private readonly index: SignalIndex
  private waiting: MarkEntry[] = []
  private count = 0

  constructor(index: SignalIndex) {
    this.index = index
  }

  note(signal_ids: readonly SignalId[], stage: Stage, at: string, journal: Journal): void {
    const fresh = signal_ids.filter((signal_id) => {
      const row = this.index.find(signal_id)
      return row !== -1 && this.index.rows.get(row, stage) === 0
    })
    if (fresh.length === 0) return
    const entry: MarkEntry = { kind: 'mark', stage, at, signal_ids: fresh }
    this.index.apply(entry, { segment: 0, offset: 0, length: 0 })
    const last = this.waiting.at(-1)
    if (last?.stage === stage && last.at === at) last.signal_ids.push(...fresh)
    else this.waiting.push(entry)
    this.count += fresh.length
    if (this.count >= WAITING_MAX) this.writeTo(journal)
  }

  writeTo(journal: Journal): void {
    if (this.waiting.length === 0) return
    const entries = this.waiting
    this.waiting = []
    this.count = 0
    journal.begin()
    for (const entry of entries) journal.add(entryText(entry))
  }
}
