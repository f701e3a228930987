/**
 * Fallback delivery to a session by a named pipe, for a client whose inbox cannot wake it. In a terminal the reader is
 * the plugin's waiter, a background hook that wakes the client by exiting; for a headless client it is the supervisor
 * that has its stdin.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { processAlive } from '../process/process-info.ts'
import type { PostOutcome, DeliveryPath } from '../../ports/delivery-path.ts'

export interface WakePipe extends DeliveryPath {
  /** Releases a waiting reader after the client has ended. Never throws, because cleanup must not fail a session. */
  release(): void
}

/** Path of the pipe, known to both ends. `waiter.sh` derives the same path. */
export function wakePipeFile(home_root: string, client_pid: number): string {
  return path.join(home_root, 'run', `claude-${client_pid}.bell`)
}

export function wakePipe(file: string): WakePipe {
  return {
    name: 'pipe',
    post: (text) => Promise.resolve(write(file, text)),
    release() {
      // Renamed first, so that a waiter that has not opened it yet does not find it. Two workers may do this
      // concurrently; one of them finds nothing.
      const renamed = `${file}.left`
      ifPossible(() => fs.renameSync(file, renamed))
      write(renamed, '')
      ifPossible(() => fs.rmSync(renamed, { force: true }))
      ifPossible(() => fs.rmSync(`${file}.waiter`, { force: true }))
    },
  }
}

function ifPossible(step: () => void): void {
  try {
    step()
  } catch {
    // The pipe remains for the next reader.
  }
}

/** Creates the pipe and reads every doorbell. Throws if the system has no named pipes. */
export function readWakePipe(file: string, onBell: (text: string) => void): { close(): void } {
  // The client has just started, so an existing pipe belongs to an earlier client with the same pid, as in containers.
  fs.rmSync(file, { force: true })
  execFileSync('mkfifo', ['-m', '600', file], { stdio: 'ignore' })
  // Opened for reading and writing, so that it does not end when a writer closes it.
  const pipe = new net.Socket({ fd: fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_NONBLOCK) })
  pipe.on('error', () => pipe.destroy())
  createInterface({ input: pipe }).on('line', (line) => {
    if (line !== '') onBell(line)
  })
  return { close: () => void pipe.destroy() }
}

/** Releases the pipes and waiters of clients that were killed together with their process group. */
export function releaseOrphanedPipes(home_root: string, alive = processAlive): void {
  const folder = path.join(home_root, 'run')
  let names: string[] = []
  ifPossible(() => (names = fs.readdirSync(folder)))
  for (const name of names) {
    const pid = Number(/^claude-(\d+)\.bell$/.exec(name)?.[1] ?? Number.NaN)
    if (Number.isInteger(pid) && !alive(pid)) wakePipe(path.join(folder, name)).release()
  }
}

/** Writes one line. Without a reader the open fails, so nothing is left in an unread pipe. */
function write(file: string, text: string): PostOutcome {
  let handle: number
  try {
    // Anything but a pipe would accept the line.
    if (!fs.lstatSync(file).isFIFO()) return 'unavailable'
    handle = fs.openSync(file, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK)
  } catch {
    return 'unavailable'
  }
  try {
    fs.writeSync(handle, `${text.replaceAll('\n', ' ')}\n`)
    return 'sent'
  } catch {
    return 'failed'
  } finally {
    fs.closeSync(handle)
  }
}
