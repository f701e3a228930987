/** Fills, opens and reads journals, each in a separate process, like after a restart. */
import fs from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { openFileSignalStore } from '../../src/storage/file/signals/signal-store.ts'
import { systemClock } from '../../src/system/clock.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { micros } from '../report/figures.ts'
import { signalsTo } from '../journal-signals.ts'
import { serve } from '../remote.ts'

/** Number of receivers, so that each has far fewer than LIMITS.queue_depth_max signals. */
const OWNERS = 1_000
/** Number of concurrent appends, which share one sync. */
const WRITERS = 1_000
const NEWLINE = 10
const CHUNK_BYTES = 1024 * 1024
/** `,"crc":"xxxxxxxx"}` at the end of a line: the checksum and the part of the line that it covers. */
const SEAL = { bytes: 18, digits: 8, after: 2 }

export type StoredHandlers = {
  fill(params: { directory: string; signals: number }): Promise<void>
  /** Returns the milliseconds until the store is open, and the number of waiting signals. */
  open(params: { directory: string }): Promise<{ ms: number; rss_mib: number; signals: number }>
  /** Returns the milliseconds to read the journal and compare each line with its checksum. */
  scan(params: { directory: string }): Promise<{ ms: number; lines: number }>
}

serve({
  async fill({ directory, signals }) {
    const store = await openFileSignalStore({ directory, clock: systemClock })
    const next = signalsTo(createIds(systemClock, systemRandom), signals, OWNERS, 'stored')
    await Promise.all(
      Array.from({ length: WRITERS }, async () => {
        for (const signal of next) await store.append(signal)
      }),
    )
    await store.close()
  },

  /** Never closed, so that the files stay unchanged for the next round. */
  async open({ directory }) {
    const started = micros()
    const store = await openFileSignalStore({ directory, clock: systemClock })
    const ms = (micros() - started) / 1000
    const rss_mib = process.memoryUsage.rss() / 1024 / 1024
    const signals = [...store.pendingCounts().values()].reduce((sum, depth) => sum + depth, 0)
    return { ms, rss_mib, signals }
  },

  scan({ directory }) {
    const journal = path.join(directory, 'journal')
    const started = micros()
    let lines = 0
    for (const name of fs.readdirSync(journal).filter((file) => file.endsWith('.jsonl'))) {
      lines += scanFile(path.join(journal, name))
    }
    return Promise.resolve({ ms: (micros() - started) / 1000, lines })
  },
} satisfies StoredHandlers)

function scanFile(file: string): number {
  const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  const fd = fs.openSync(file, 'r')
  let lines = 0
  let position = 0
  try {
    for (;;) {
      const filled = fs.readSync(fd, buffer, 0, buffer.length, position)
      const whole = buffer.subarray(0, filled).lastIndexOf(NEWLINE) + 1
      if (whole === 0) return lines
      for (let start = 0; start < whole;) {
        const end = buffer.indexOf(NEWLINE, start)
        const crc = crc32(buffer.subarray(start, end - SEAL.bytes))
        const said = Number.parseInt(
          buffer.toString('latin1', end - SEAL.digits - SEAL.after, end - SEAL.after),
          16,
        )
        if (crc !== said) throw new Error(`${file}: a line does not match its checksum`)
        lines += 1
        start = end + 1
      }
      position += whole
    }
  } finally {
    fs.closeSync(fd)
  }
}
