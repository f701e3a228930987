/** Waits until a disk that was full, or failed, takes writes again. */
import path from 'node:path'
import type { Clock, Timer } from '../../ports/clock.ts'
import { writeFully, type Disk } from './disk.ts'

const FIRST_TRY_MS = 1_000
const NEXT_TRY_MS_MAX = 30_000
/** With less room than this it would be full again at once. */
const TRIED_BYTES = 1024 * 1024

export interface WhenWritableNeeds {
  disk: Disk
  directory: string
  clock: Pick<Clock, 'after'>
}

/**
 * Calls once, as soon as 1 MiB could be written to a file in the directory and synced. Tries after one second, then after
 * twice as long each time, at most every 30 s. The file is gone afterwards.
 */
export function whenWritable({ disk, directory, clock }: WhenWritableNeeds, call: () => void): Timer {
  const file = path.join(directory, 'is-it-writable.tmp')
  let cancelled = false
  let next_ms = FIRST_TRY_MS
  let timer = clock.after(next_ms, attempt)

  function attempt(): void {
    let fd: number | null = null
    const ended = (error: unknown) => {
      const left = cleared(disk, file, fd)
      if (cancelled) return
      if (error === null && left === null) return call()
      next_ms = Math.min(2 * next_ms, NEXT_TRY_MS_MAX)
      timer = clock.after(next_ms, attempt)
    }
    try {
      fd = disk.open(file, 'write')
      writeFully(disk, fd, new Uint8Array(TRIED_BYTES), 0)
      disk.sync(fd, ended)
    } catch (error) {
      ended(error)
    }
  }

  return {
    cancel() {
      cancelled = true
      timer.cancel()
    },
  }
}

/** Null, or what the system says instead. */
function cleared(disk: Disk, file: string, fd: number | null): unknown {
  try {
    if (fd !== null) disk.close(fd)
    disk.remove(file)
    return null
  } catch (error) {
    return error
  }
}
