/**
 * No log grows without end: a file that is long enough is set aside as `FILE.1`, in place of the one before. Several processes
 * may write to the same one.
 */
import fs from 'node:fs'
import { LIMITS } from '../contracts/limits.ts'

/** One that cannot be renamed goes on as it is. */
export function setAsideIfLong(file: string, bytes_max: number = LIMITS.log_file_bytes_max): void {
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
  // Another process may have done it already.
  if (size < bytes_max) return
  try {
    fs.renameSync(file, `${file}.1`)
  } catch {
    // Nobody waits for it; it is tried again with what comes next.
  }
}

/** The file descriptor of a file that another process is to print into. One that has grown too long is set aside first. */
export function openOutput(file: string): number {
  setAsideIfLong(file)
  return fs.openSync(file, 'a', 0o600)
}
