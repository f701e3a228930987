/** What a hook leaves for the hub, which may be away, and which nobody has time to wait for. */
import fs from 'node:fs'
import path from 'node:path'
import type { z } from 'zod'
import type { Spooled } from '../../contracts/spool.ts'
import { SPOOL_FILE, SPOOL_REJECTED_FILE, SPOOL_REJECTED_OLDER_FILE } from '../../contracts/spool-files.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Clock } from '../../ports/clock.ts'
import { prepareHome, type Home } from '../../system/home.ts'

/** All that a line says but its own id, which keeps it from being taken in twice, and its time. */
export type Left =
  z.input<typeof Spooled> extends infer One
    ? One extends { id: string; at: string }
      ? Omit<One, 'id' | 'at'>
      : never
    : never

/** Who leaves it. */
export interface Leaver {
  cli: { ids: Pick<Ids, 'next'>; clock: Pick<Clock, 'now'> }
  home: Home
}

export function leave({ cli, home }: Leaver, left: Left): void {
  prepareHome(home)
  const line = `${JSON.stringify({ id: cli.ids.next(), at: timestamp(cli.clock), ...left })}\n`
  if (waitingBytes(home.spool) + Buffer.byteLength(line) > LIMITS.spool_bytes_max) return
  const fd = fs.openSync(path.join(home.spool, SPOOL_FILE), 'a+', 0o600)
  try {
    // One write of one line: two hooks at once append one after the other.
    fs.appendFileSync(fd, endsMidLine(fd) ? `\n${line}` : line)
  } finally {
    fs.closeSync(fd)
  }
}

/** A full disk may have cut short what somebody wrote, and that would swallow the next line. */
function endsMidLine(fd: number): boolean {
  const { size } = fs.fstatSync(fd)
  const last = Buffer.alloc(1)
  return size > 0 && fs.readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a
}

/** Also what the hub has taken away and is not through with. */
function waitingBytes(spool: string): number {
  let bytes = 0
  for (const name of fs.readdirSync(spool)) {
    if (name === SPOOL_REJECTED_FILE || name === SPOOL_REJECTED_OLDER_FILE) continue
    bytes += fs.statSync(path.join(spool, name), { throwIfNoEntry: false })?.size ?? 0
  }
  return bytes
}
