/**
 * Spooled lines that were rejected for good, in `rejected.jsonl`, each with the reason. Only people read them, and may
 * change or remove the file at any time. A full file is renamed and replaces the previous older file.
 */
import path from 'node:path'
import { parseJsonOrNull } from '../../../contracts/validation/json.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { SPOOL_REJECTED_FILE, SPOOL_REJECTED_OLDER_FILE } from '../../../contracts/spool/spool.ts'
import { timestamp, type Clock } from '../../../ports/clock.ts'
import type { Disk } from '../journal/disk.ts'
import { openSyncedLines } from '../project/synced-lines.ts'

/**
 * Number of newest keys that are kept to detect repeats. A line that was stored before a crash is processed again after at
 * most all deferred lines.
 */
const KEYS_MAX = LIMITS.spool_deferred_max + 1

export interface SpoolReject {
  /** Position of the line in its batch. */
  key: string
  line: string
  reason: string
}

export interface SpoolRejects {
  file: string
  /** Stores the lines; durable when it resolves. Returns the lines that were not stored before. */
  keep(refused: readonly SpoolReject[]): Promise<SpoolReject[]>
}

export function openSpoolRejects(disk: Disk, directory: string, clock: Pick<Clock, 'now'>): SpoolRejects {
  const file = path.join(directory, SPOOL_REJECTED_FILE)
  const { found, lines } = openSyncedLines(disk, file)
  const keys = new Set(found.slice(-KEYS_MAX).flatMap((line) => keyIn(line) ?? []))
  let bytes = found.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)

  return {
    file,
    async keep(refused) {
      // A process may have crashed after storing the line and before recording that.
      const fresh = refused.filter(({ key }) => !keys.has(key))
      if (fresh.length === 0) return []
      const full = bytes >= LIMITS.spool_rejected_bytes_max
      if (full && disk.list(directory).includes(SPOOL_REJECTED_FILE))
        lines.moveTo(path.join(directory, SPOOL_REJECTED_OLDER_FILE))
      const at = timestamp(clock)
      bytes = await lines.append(
        ...fresh.map(({ key, line, reason }) => JSON.stringify({ reason, at, key, line })),
      )
      for (const { key } of fresh) keys.add(key)
      for (const oldest of keys) {
        if (keys.size <= KEYS_MAX) break
        keys.delete(oldest)
      }
      return fresh
    },
  }
}

function keyIn(line: string): string | null {
  const value = parseJsonOrNull(line)
  return typeof value === 'object' && value !== null && 'key' in value ? String(value.key) : null
}
