/**
 * Lines of the spool that could not be taken in yet, in `waiting.jsonl`: what is known of each, by the place where it
 * was found first. The last word on a line counts.
 */
import * as z from 'zod'
import { jsonIn } from '../../contracts/json.ts'
import type { Disk } from './disk.ts'
import { openSyncedLines } from './synced-lines.ts'

export interface WaitingLine {
  /** Where it stood: a line that is carried over twice is one. */
  key: string
  line: string
  since: string
  /** How often something broke at it. */
  tries: number
}

export interface WaitingLines {
  all(): WaitingLine[]
  get(key: string): WaitingLine | undefined
  size(): number
  /** What all of them take. */
  bytes(): number
  put(waiting: WaitingLine): Promise<void>
  /** It waits no more. */
  over(key: string): Promise<void>
  /** Lets go of what does not count any more. */
  tidy(): void
}

const Said = z.union([
  z.strictObject({ key: z.string(), over: z.literal(true) }),
  z.strictObject({ key: z.string(), line: z.string(), since: z.string(), tries: z.number().int() }),
])

export function openWaitingLines(disk: Disk, file: string): WaitingLines {
  const { found, lines } = openSyncedLines(disk, file)
  const waiting = new Map<string, WaitingLine>()
  let bytes = 0
  let said = found.length

  const count = (says: z.infer<typeof Said>) => {
    bytes -= sizeOf(waiting.get(says.key))
    if ('over' in says) waiting.delete(says.key)
    else waiting.set(says.key, says)
    bytes += sizeOf(waiting.get(says.key))
  }
  for (const line of found) {
    const read = Said.safeParse(jsonIn(line))
    if (read.success) count(read.data)
  }
  const say = async (says: z.infer<typeof Said>) => {
    await lines.append(JSON.stringify(says))
    said += 1
    count(says)
  }

  return {
    all: () => [...waiting.values()],
    get: (key) => waiting.get(key),
    size: () => waiting.size,
    bytes: () => bytes,
    put: say,
    over: async (key) => {
      if (waiting.has(key)) await say({ key, over: true })
    },
    tidy() {
      if (waiting.size === 0 ? !lines.isThere() : said <= waiting.size) return
      lines.replace([...waiting.values()].map((one) => JSON.stringify(one)))
      said = waiting.size
    },
  }
}

function sizeOf(one: WaitingLine | undefined): number {
  return one === undefined ? 0 : Buffer.byteLength(JSON.stringify(one))
}
