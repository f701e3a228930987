/** Appends lines to the spool of a home, from which the hub reads them later. */
import fs from 'node:fs'
import path from 'node:path'
import type { z } from 'zod'
import {
  isSpoolFile,
  SPOOL_FILE,
  SPOOL_MOVED_SUFFIX,
  SPOOL_REJECTED_FILE,
  SPOOL_REJECTED_OLDER_FILE,
  type Spooled,
} from '../../contracts/spool/spool.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Ids } from '../../ports/random.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import { prepareHome, type Home } from '../config/home.ts'
import { APPEND_PLAIN } from './safe-read.ts'

/** A line without its id, by which the hub consumes it once, and its time. */
export type SpoolEntry =
  z.input<typeof Spooled> extends infer Line
    ? Line extends { id: string; at: string }
      ? Omit<Line, 'id' | 'at'>
      : never
    : never

export interface SpoolWriter {
  ids: Pick<Ids, 'next'>
  clock: Pick<Clock, 'now'>
  home: Home
}

/** Returns whether the line was written; it is dropped if the spool with it would exceed `bytes_max`. Throws on an I/O error. */
export function appendSpoolLine(
  { ids, clock, home }: SpoolWriter,
  entry: SpoolEntry,
  bytes_max: number = LIMITS.spool_bytes_max,
): boolean {
  prepareHome(home)
  const line = `${JSON.stringify({ id: ids.next(), at: timestamp(clock), ...entry })}\n`
  if (waitingBytes(home.spool) + Buffer.byteLength(line) > bytes_max) return false
  const file = path.join(home.spool, SPOOL_FILE)
  // A link or a pipe would redirect the line. The hub and doctor report the renamed entry.
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() === false)
    fs.renameSync(file, `${file}.${ids.next()}${SPOOL_MOVED_SUFFIX}`)
  const fd = fs.openSync(file, APPEND_PLAIN, 0o600)
  try {
    // One write for one line, so that lines of concurrent hooks do not mix.
    fs.appendFileSync(fd, endsMidLine(fd) ? `\n${line}` : line)
  } finally {
    fs.closeSync(fd)
  }
  return true
}

/** Returns true if a full disk truncated the last line. The next line would be lost as part of it. */
function endsMidLine(fd: number): boolean {
  const { size } = fs.fstatSync(fd)
  const last = Buffer.alloc(1)
  return size > 0 && fs.readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a
}

/** Returns the size of all unprocessed lines, including those that the hub is processing. */
function waitingBytes(spool: string): number {
  let bytes = 0
  for (const name of fs.readdirSync(spool)) {
    if (name === SPOOL_REJECTED_FILE || name === SPOOL_REJECTED_OLDER_FILE || !isSpoolFile(name)) continue
    bytes += fs.lstatSync(path.join(spool, name), { throwIfNoEntry: false })?.size ?? 0
  }
  return bytes
}
