/**
 * The spool of a home: `spool/hooks.jsonl`, to which any process appends a line, and which the hub takes away as a
 * whole before it looks at what is in it.
 *
 * Beside what was taken stands a note: up to where it is done, written and synced after each line. So a process that
 * dies leaves at most one line whose doing nobody has noted, and the next one begins with that. A line that has to wait
 * is in `waiting.jsonl`, and one that is refused in `rejected.jsonl`, before the note is past it.
 *
 * A writer may have opened the file just before it was taken, and write just after. So what was taken is kept until
 * nothing has come to it for longer than any writer takes, and only then removed.
 */
import path from 'node:path'
import { LIMITS } from '../../contracts/limits.ts'
import { SPOOL_FILE } from '../../contracts/spool-files.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Spool, Taken } from '../../ports/spool.ts'
import { systemDisk, type Disk } from './disk.ts'
import { openSpoolRejects, type SpoolRejects } from './spool-rejects.ts'
import { openSyncedLines, type SyncedLines } from './synced-lines.ts'
import { openWaitingLines, type WaitingLine, type WaitingLines } from './waiting-lines.ts'

const TAKEN_ENDING = '.taken'
const NOTE_ENDING = '.done'
const WAITING_FILE = 'waiting.jsonl'

export interface SpoolNeeds {
  directory: string
  clock: Pick<Clock, 'now' | 'monotonic'>
  ids: Ids
  /** Only tests bring their own. */
  disk?: Disk
  onRefused?: (notice: { reason: string; kept_in: string }) => void
}

type Take = (line: string) => Promise<Taken>
type Counts = { taken: number; refused: number }

/** A file that was taken, and up to where it is done. */
interface Batch {
  name: string
  offset: number
  note: SyncedLines
  /** How much was in it, and since when. */
  size: number
  since_ms: number
}

export function openSpool({
  directory,
  clock,
  ids,
  disk = systemDisk,
  onRefused = () => {},
}: SpoolNeeds): Spool {
  const at = (name: string) => path.join(directory, name)
  const batches = new Map<string, Batch>()
  let opened: { waiting: WaitingLines; rejects: SpoolRejects } | null = null
  let running: Promise<Counts> | null = null
  let closed = false

  const open = () =>
    (opened ??= {
      waiting: openWaitingLines(disk, at(WAITING_FILE)),
      rejects: openSpoolRejects(disk, directory, clock),
    })

  const refuse = async (key: string, line: string, reason: string, counts: Counts) => {
    const { rejects } = open()
    if (await rejects.keep(key, line, reason)) onRefused({ reason, kept_in: rejects.file })
    counts.refused += 1
  }

  /** Afterwards the line is done, waits, or is set aside, and all of that is on the disk. */
  const settle = async (found: WaitingLine, take: Take, counts: Counts) => {
    const { waiting } = open()
    const { key, line } = found
    const outcome = await take(line)
    if (outcome === 'taken') counts.taken += 1
    else {
      const broke = 'broke' in outcome
      const now = { ...found, tries: found.tries + (broke ? 1 : 0) }
      const reason = 'refused' in outcome ? outcome.refused : tooMuch(now, outcome)
      if (reason === null) {
        if (broke || waiting.get(key) === undefined) await waiting.put(now)
        return
      }
      await refuse(key, line, reason, counts)
    }
    await waiting.over(key)
  }

  /** Why it may not wait; null where it may. */
  const tooMuch = (
    { key, line, since, tries }: WaitingLine,
    outcome: { later: string } | { broke: string },
  ) => {
    const { waiting } = open()
    if ('broke' in outcome) {
      if (tries >= LIMITS.spool_tries_max) return `it broke ${tries} times: ${outcome.broke}`
    } else if (clock.now() - Date.parse(since) > LIMITS.spool_waiting_ms)
      return `it has waited since ${since}: ${outcome.later}`
    if (waiting.get(key) !== undefined) return null
    const full =
      waiting.size() >= LIMITS.spool_waiting_max ||
      waiting.bytes() + Buffer.byteLength(line) > LIMITS.spool_waiting_bytes_max
    if (!full) return null
    return `too much waits already: ${'later' in outcome ? outcome.later : outcome.broke}`
  }

  const pass = async (batch: Batch, offset: number) => {
    await batch.note.append(String(offset))
    batch.offset = offset
  }

  /** One that was carried over by a process that died before it had noted that. */
  const passCarried = async (batch: Batch) => {
    if (open().waiting.get(keyOf(batch)) === undefined) return
    const bytes = bytesOf(batch)
    const end = bytes.indexOf(0x0a, batch.offset)
    // Whoever wrote it did not sync it: a power cut may have taken its end from here, or all of it.
    await pass(batch, end === -1 ? Math.max(batch.offset, bytes.length) : end + 1)
  }

  const bytesOf = ({ name }: Batch) => disk.readFile(at(name)) ?? Buffer.alloc(0)

  const takeBatch = async (batch: Batch, take: Take, counts: Counts) => {
    const bytes = bytesOf(batch)
    if (bytes.length !== batch.size) {
      batch.size = bytes.length
      batch.since_ms = clock.monotonic()
    }
    for (;;) {
      const end = bytes.indexOf(0x0a, batch.offset)
      if (closed) return
      if (end === -1) break
      const line = bytes.subarray(batch.offset, end).toString()
      const found = { key: keyOf(batch), line, since: timestamp(clock), tries: 0 }
      if (line.trim() !== '') await settle(found, take, counts)
      await pass(batch, end + 1)
    }
    // Taking lines may have lasted longer than the quiet that is waited for: what came meanwhile is
    // seen at the next look.
    const isQuiet = () => bytesOf(batch).length === bytes.length
    if (!isQuiet() || clock.monotonic() - batch.since_ms < LIMITS.spool_quiet_ms) return
    const rest = bytes.subarray(batch.offset).toString()
    if (rest.trim() !== '') await refuse(keyOf(batch), rest, 'whoever wrote it came to no end', counts)
    if (!isQuiet()) return
    disk.remove(at(batch.name))
    disk.syncDirectory(directory)
    // Only now: without it the batch would be taken in anew.
    batch.note.replace([])
    batches.delete(batch.name)
  }

  /** What was taken before, oldest first, and then what has come since. */
  const takenFiles = (): Batch[] => {
    const names = disk.list(directory)
    const taken = names.filter((name) => name.endsWith(TAKEN_ENDING))
    for (const name of names) {
      if (name.endsWith(NOTE_ENDING) && !taken.includes(name.slice(0, -NOTE_ENDING.length)))
        disk.remove(at(name))
    }
    if (names.includes(SPOOL_FILE)) {
      const fresh = `${ids.next()}${TAKEN_ENDING}`
      disk.rename(at(SPOOL_FILE), at(fresh))
      disk.syncDirectory(directory)
      taken.push(fresh)
    }
    return taken.map((name) => {
      const known = batches.get(name)
      if (known !== undefined) return known
      const { found, lines: note } = openSyncedLines(disk, at(`${name}${NOTE_ENDING}`))
      const batch = { name, offset: offsetIn(found), note, size: -1, since_ms: 0 }
      batches.set(name, batch)
      return batch
    })
  }

  const takeAll = async (take: Take) => {
    const counts = { taken: 0, refused: 0 }
    if (closed) return counts
    const { waiting } = open()
    const taken = takenFiles()
    try {
      for (const batch of taken) await passCarried(batch)
      for (const found of waiting.all()) {
        if (closed) return counts
        await settle(found, take, counts)
      }
      for (const batch of taken) await takeBatch(batch, take, counts)
    } finally {
      waiting.tidy()
    }
    return counts
  }

  return {
    takeAll(take) {
      // One at a time: two would hand over the same lines.
      running ??= takeAll(take).finally(() => (running = null))
      return running
    },
    async close() {
      closed = true
      await running?.catch(() => undefined)
    },
  }
}

function offsetIn(note: readonly string[]): number {
  return Number(note.findLast((line) => /^\d+$/.test(line)) ?? 0)
}

/** The place of the line that comes next. */
function keyOf({ name, offset }: Batch): string {
  return `${name}:${offset}`
}
