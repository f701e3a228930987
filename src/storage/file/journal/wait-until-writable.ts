/** Waits until a disk that was full or had failed accepts writes again. */
import path from 'node:path'
import type { Clock, Timer } from '../../../ports/clock.ts'
import { writeFully, type Disk } from './disk.ts'

const FIRST_TRY_MS = 1_000
const NEXT_TRY_MS_MAX = 30_000
/** Size of the trial write; with less free space the disk would soon be full again. */
const TRIED_BYTES = 1024 * 1024

export interface WhenWritableDeps {
  disk: Disk
  directory: string
  clock: Pick<Clock, 'after'>
  /** Called once the disk accepts writes: returns whether the store's files are complete. */
  isWhole: () => boolean
}

/**
 * Calls `call` once, when 1 MiB could be written to a file in the directory and synced, and `isWhole` returns true. Tries
 * after one second, then with doubled delays up to 30 s. Removes the file after each try.
 */
export function whenWritable({ disk, directory, clock, isWhole }: WhenWritableDeps, call: () => void): Timer {
  const file = path.join(directory, 'is-it-writable.tmp')
  let cancelled = false
  let next_ms = FIRST_TRY_MS
  let timer = clock.after(next_ms, attempt)

  function attempt(): void {
    let fd: number | null = null
    const onTried = (error: unknown) => {
      const cleanup_error = removeTrial(disk, file, fd)
      if (cancelled) return
      if (error === null && cleanup_error === null && isWhole()) return call()
      next_ms = Math.min(2 * next_ms, NEXT_TRY_MS_MAX)
      timer = clock.after(next_ms, attempt)
    }
    try {
      fd = disk.open(file, 'write')
      writeFully(disk, fd, new Uint8Array(TRIED_BYTES), 0)
      disk.sync(fd, onTried)
    } catch (error) {
      onTried(error)
    }
  }

  return {
    cancel() {
      cancelled = true
      timer.cancel()
    },
  }
}

/** Closes and removes the trial file. Returns null, or the error. */
function removeTrial(disk: Disk, file: string, fd: number | null): unknown {
  try {
    if (fd !== null) disk.close(fd)
    disk.remove(file)
    return null
  } catch (error) {
    return error
  }
}
