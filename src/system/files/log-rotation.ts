/**
 * Log rotation: a file above the size limit is renamed to `FILE.1`, replacing the previous one. Several processes may
 * write to the same log.
 */
import fs from 'node:fs'
import { LIMITS } from '../../contracts/limits/limits.ts'

/** If the rename fails, the file keeps growing. */
export function rotateIfLarge(file: string, bytes_max: number = LIMITS.log_file_bytes_max): void {
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
  // Another process may have rotated it already.
  if (size < bytes_max) return
  try {
    fs.renameSync(file, `${file}.1`)
  } catch {
    // Retried at the next write.
  }
}

/** Opens a file for the output of another process. A file above the limit is rotated first. */
export function openOutput(file: string): number {
  rotateIfLarge(file)
  return fs.openSync(file, 'a', 0o600)
}
