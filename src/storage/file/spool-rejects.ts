/**
 * Lines of the spool that will never be taken in, in `rejected.jsonl`, each with the reason. Nobody but a person
 * reads them, and may change or remove the file at any time. One that is full becomes the older one, whose place the
 * older one before it gives up.
 */
import path from 'node:path'
import { jsonIn } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { SPOOL_REJECTED_FILE, SPOOL_REJECTED_OLDER_FILE } from '../../contracts/spool-files.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Disk } from './disk.ts'
import { openSyncedLines } from './synced-lines.ts'

/**
 * Of how many of the newest lines the keys are remembered. One that was kept and not noted comes again, and before it
 * comes as much as waits.
 */
const KEYS_MAX = LIMITS.spool_waiting_max + 1

export interface SpoolRejects {
  file: string
  /** On the disk when it resolves; false where it was there already. `key`: where the line stood. */
  keep(key: string, line: string, reason: string): Promise<boolean>
}

export function openSpoolRejects(disk: Disk, directory: string, clock: Pick<Clock, 'now'>): SpoolRejects {
  const file = path.join(directory, SPOOL_REJECTED_FILE)
  const { found, lines } = openSyncedLines(disk, file)
  const keys = new Set(found.slice(-KEYS_MAX).flatMap((line) => keyIn(line) ?? []))
  let bytes = found.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)

  return {
    file,
    async keep(key, line, reason) {
      // It may be of a process that died before it had noted that.
      if (keys.has(key)) return false
      const full = bytes >= LIMITS.spool_rejected_bytes_max
      if (full && disk.list(directory).includes(SPOOL_REJECTED_FILE))
        lines.moveTo(path.join(directory, SPOOL_REJECTED_OLDER_FILE))
      bytes = await lines.append(JSON.stringify({ reason, at: timestamp(clock), key, line }))
      keys.add(key)
      for (const oldest of keys) {
        if (keys.size <= KEYS_MAX) break
        keys.delete(oldest)
      }
      return true
    },
  }
}

function keyIn(line: string): string | null {
  const said = jsonIn(line)
  return typeof said === 'object' && said !== null && 'key' in said ? String(said.key) : null
}
