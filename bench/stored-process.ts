/** Fills, opens and reads journals, each in a process of its own, as a restart is. */
import fs from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { openFileSignalStore } from '../src/storage/file/signal-store.ts'
import { systemClock } from '../src/system/clock.ts'
import { createIds, systemRandom } from '../src/system/random.ts'
import { micros } from './figures.ts'
import { signalsTo } from './journal-signals.ts'
import { serve } from './remote.ts'

/** Far below LIMITS.queue_depth_max for each. */
const OWNERS = 1_000
/** Appends on their way: what shares one sync. */
const WRITERS = 1_000
const NEWLINE = 10
const CHUNK_BYTES = 1024 * 1024
/** `,"crc":"xxxxxxxx"}` at the end of a line: what it says, and what it says it of. */
const SEAL = { bytes: 18, digits: 8, after: 2 }

export type StoredHandlers = {
  fill(params: { directory: string; signals: number }): Promise<void>
  /** Milliseconds until the store is open, and how many signals wait in it. */
  open(params: { directory: string }): Promise<{ ms: number; rss_mib: number; signals: number }>
  /** Milliseconds to read the journal's bytes and to compare each line with its checksum. */
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

  /** Never closed: what is opened stays as it was for the next round. */
  async open({ directory }) {
    const started = micros()
    const store = await openFileSignalStore({ directory, clock: systemClock })
    const ms = (micros() - started) / 1000
    const rss_mib = process.memoryUsage.rss() / 1024 / 1024
    const signals = [...store.depths().values()].reduce((sum, depth) => sum + depth, 0)
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
