/**
 * The spool of a home: any process appends lines to `spool/hooks.jsonl`. The hub renames the file as a whole, to a
 * batch, before it reads it.
 *
 * A progress file next to each batch records how far the batch is done; it is synced after each group of lines. A crash
 * therefore leaves at most one group unrecorded, which the next process handles first. A deferred line is stored in
 * `waiting.jsonl`, a rejected line in `rejected.jsonl`, before the progress passes it.
 *
 * A writer may open the file before the rename and write after it. So a batch is removed only after it has not grown for
 * longer than any writer takes.
 */
import path from 'node:path'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { isSpoolFile, SPOOL_FILE, SPOOL_MOVED_SUFFIX } from '../../../contracts/spool/spool.ts'
import { timestamp, type Clock } from '../../../ports/clock.ts'
import type { Ids } from '../../../ports/random.ts'
import type { Spool } from '../../../ports/spool.ts'
import { systemDisk, type Disk } from '../journal/disk.ts'
import { openDeferredLines } from './deferred-lines.ts'
import { LineSettlement, type Counts, type SettlementDeps, type Take } from './line-settlement.ts'
import { openSpoolRejects } from './rejected-lines.ts'
import { NOTE_ENDING, openBatch, TAKEN_ENDING, type Batch } from './spool-batch.ts'

const WAITING_FILE = 'waiting.jsonl'

export interface SpoolDeps {
  directory: string
  clock: Pick<Clock, 'now' | 'monotonic'>
  ids: Ids
  /** Default: the system's files. Set by tests. */
  disk?: Disk
  onRefused?: (notice: { reason: string; kept_in: string }) => void
}

export function openSpool(deps: SpoolDeps): Spool {
  const { directory, clock, ids, disk = systemDisk, onRefused = () => {} } = deps
  const batches = new Map<string, Batch>()
  let opened: SettlementDeps | null = null
  let running: Promise<Counts> | null = null
  let closed = false

  const open = () =>
    (opened ??= {
      clock,
      waiting: openDeferredLines(disk, path.join(directory, WAITING_FILE)),
      rejects: openSpoolRejects(disk, directory, clock),
      onRefused,
    })

  const takeBatch = async (batch: Batch, settlement: LineSettlement) => {
    batch.checkSize(clock.monotonic())
    for (;;) {
      if (closed) return
      const { lines, too_long, end } = batch.next()
      if (end === batch.offset()) break
      const since = timestamp(clock)
      const fresh = lines
        .filter(({ key, line }) => line.trim() !== '' && !batch.deferred.has(key))
        .map(({ key, line }) => ({ key, line, since, tries: 0 }))
      await settlement.settle(fresh)
      if (too_long !== null) await settlement.refuse([too_long])
      await batch.markDone(end)
    }
    // Handling lines may have taken longer than the quiet time; lines added during it are found by the next check.
    if (!batch.isQuiet(clock.monotonic())) return
    const rest = batch.partialLine()
    if (rest !== null) await settlement.refuse([{ ...rest, reason: 'the line is incomplete' }])
    if (!batch.isQuiet(clock.monotonic())) return
    disk.remove(path.join(directory, batch.name))
    disk.syncDirectory(directory)
    // Only after the batch is removed; otherwise it would be processed again.
    batch.forget()
    batches.delete(batch.name)
  }

  const takeAll = async (take: Take) => {
    if (closed) return { taken: 0, refused: 0 }
    quarantineOthers(disk, directory, ids, onRefused)
    const taken = batchNames(disk, directory, ids).map((name) => {
      const batch = batches.get(name) ?? openBatch(disk, directory, name)
      batches.set(name, batch)
      return batch
    })
    const parts = open()
    const { waiting } = parts
    const settlement = new LineSettlement(parts, take)
    try {
      for (const batch of taken) await batch.skipDeferred(waiting)
      const before = waiting.all()
      for (let from = 0; from < before.length; from += LIMITS.spool_batch_max) {
        if (closed) return settlement.counts
        await settlement.settle(before.slice(from, from + LIMITS.spool_batch_max))
      }
      for (const batch of taken) await takeBatch(batch, settlement)
    } finally {
      waiting.tidy()
    }
    return settlement.counts
  }

  return {
    consume(take) {
      // One run at a time, because two would pass the same lines to `take`.
      running ??= takeAll(take).finally(() => (running = null))
      return running
    },
    async close() {
      closed = true
      await running?.catch(() => undefined)
    },
  }
}

/** Returns the names of existing batches, oldest first, and then of a new batch of the lines spooled after them. */
function batchNames(disk: Disk, directory: string, ids: Ids): string[] {
  const at = (name: string) => path.join(directory, name)
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
  return taken
}

/**
 * Quarantines entries that have the name of a spool file but are links, pipes, devices or directories. Reading one could
 * block, and writing to one could change another file. They are only renamed.
 */
function quarantineOthers(
  disk: Disk,
  directory: string,
  ids: Ids,
  onRefused: (notice: { reason: string; kept_in: string }) => void,
): void {
  for (const name of disk.list(directory)) {
    const file = path.join(directory, name)
    if (!isSpoolFile(name) || disk.isPlain(file)) continue
    const kept_in = path.join(directory, `${name}.${ids.next()}${SPOOL_MOVED_SUFFIX}`)
    disk.rename(file, kept_in)
    disk.syncDirectory(directory)
    onRefused({ reason: `${name} is not a regular file`, kept_in })
  }
}
