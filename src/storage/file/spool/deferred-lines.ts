/**
 * Spooled lines whose processing was deferred, in `waiting.jsonl`. Each entry is keyed by the line's first position;
 * the last entry of a key is current.
 */
import * as z from 'zod'
import { parseJsonOrNull } from '../../../contracts/validation/json.ts'
import type { Disk } from '../journal/disk.ts'
import { openSyncedLines } from '../project/synced-lines.ts'

export interface DeferredLine {
  /** Position of the line in its batch; it identifies the line if it is deferred twice. */
  key: string
  line: string
  since: string
  /** Number of failed attempts. */
  tries: number
}

export interface DeferredLines {
  all(): DeferredLine[]
  get(key: string): DeferredLine | undefined
  size(): number
  /** Size of all deferred lines in bytes. */
  bytes(): number
  /** Adds or updates the lines in `put` and removes the keys in `over`. */
  change(put: readonly DeferredLine[], over: readonly string[]): Promise<void>
  /** Rewrites the file without outdated entries. */
  tidy(): void
}

const Entry = z.union([
  z.strictObject({ key: z.string(), over: z.literal(true) }),
  z.strictObject({ key: z.string(), line: z.string(), since: z.string(), tries: z.number().int() }),
])

export function openDeferredLines(disk: Disk, file: string): DeferredLines {
  const { found, lines } = openSyncedLines(disk, file)
  const waiting = new Map<string, DeferredLine>()
  let bytes = 0
  let entry_count = found.length

  const apply = (entry: z.infer<typeof Entry>) => {
    bytes -= sizeOf(waiting.get(entry.key))
    if ('over' in entry) waiting.delete(entry.key)
    else waiting.set(entry.key, entry)
    bytes += sizeOf(waiting.get(entry.key))
  }
  for (const line of found) {
    const read = Entry.safeParse(parseJsonOrNull(line))
    if (read.success) apply(read.data)
  }
  return {
    all: () => [...waiting.values()],
    get: (key) => waiting.get(key),
    size: () => waiting.size,
    bytes: () => bytes,
    async change(put, over) {
      const entries: z.infer<typeof Entry>[] = [
        ...put,
        ...over.filter((key) => waiting.has(key)).map((key) => ({ key, over: true as const })),
      ]
      if (entries.length === 0) return
      await lines.append(...entries.map((one) => JSON.stringify(one)))
      entry_count += entries.length
      entries.forEach(apply)
    },
    tidy() {
      if (waiting.size === 0 ? !lines.exists() : entry_count <= waiting.size) return
      lines.replace([...waiting.values()].map((one) => JSON.stringify(one)))
      entry_count = waiting.size
    },
  }
}

function sizeOf(one: DeferredLine | undefined): number {
  return one === undefined ? 0 : Buffer.byteLength(JSON.stringify(one))
}
