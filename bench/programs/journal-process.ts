/** Measures the journal alone, in a separate process, so that no other code shares its heap. */
import fs from 'node:fs'
import path from 'node:path'
import type { Signal } from '../../src/contracts/signal.ts'
import type { SignalStore } from '../../src/ports/signal-store.ts'
import { systemDisk } from '../../src/storage/file/journal/disk.ts'
import { openFileSignalStore } from '../../src/storage/file/signals/signal-store.ts'
import { systemClock } from '../../src/system/clock.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { micros } from '../report/figures.ts'
import { signalsTo } from '../journal-signals.ts'
import { rawGroupCommit } from '../limits.ts'
import { meanSignalLine } from '../hubs.ts'
import { serve } from '../remote.ts'

export interface Work {
  /** Each run creates a new journal below this directory and removes it. */
  directory: string
  senders: number
  appends: number
}

export interface Appended {
  per_s: number
  /** Mean number of appends that shared one sync. */
  batch_mean: number
}

export type JournalHandlers = {
  store(work: Work): Promise<Appended & { line_bytes: number }>
  raw(work: Work & { bytes: number }): Promise<Appended>
}

const ids = createIds(systemClock, systemRandom)

serve({
  async store({ directory, senders, appends }) {
    const home = fs.mkdtempSync(path.join(directory, 'journal-'))
    let syncs = 0
    const disk = {
      ...systemDisk,
      sync(fd: number, done: (error: Error | null) => void) {
        syncs += 1
        systemDisk.sync(fd, done)
      },
    }
    const store = await openFileSignalStore({ directory: home, clock: systemClock, disk })
    try {
      const signals = [...signalsTo(ids, appends, 100)]
      const begun = micros()
      // One iterator for all: each sender takes the next signal when its last one is durable.
      const next = signals.values()
      await Promise.all(Array.from({ length: senders }, () => appendAll(store, next)))
      const per_s = (appends * 1e6) / (micros() - begun)
      const line_bytes = meanSignalLine(path.join(home, 'journal'))
      return { per_s, batch_mean: appends / syncs, line_bytes }
    } finally {
      await store.close()
      fs.rmSync(home, { recursive: true })
    }
  },

  raw: ({ directory, bytes, senders, appends }) => rawGroupCommit(directory, bytes, senders, appends),
} satisfies JournalHandlers)

async function appendAll(store: SignalStore, signals: Iterable<Signal>): Promise<void> {
  for (const signal of signals) await store.append(signal)
}
