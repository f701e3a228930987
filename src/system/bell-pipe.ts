/**
 * The second way into a session: a named pipe, at whose other end stands whoever can wake the client when
 * its inbox cannot. In a terminal that is the plugin's waiter, a hook that the client runs in the
 * background and that wakes it by ending; for a client without a window it is the process that keeps it,
 * which has its stdin.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { processAlive } from './processes.ts'
import type { Posted, Way } from '../ports/way.ts'

export interface BellPipe extends Way {
  /** The client is gone: lets go whoever still waits for a bell. Never throws: tidying up costs no session. */
  release(): void
}

/** The file by which both ends find each other. `waiter.sh` makes the same of it. */
export function bellPipeFile(home_root: string, client_pid: number): string {
  return path.join(home_root, 'run', `claude-${client_pid}.bell`)
}

export function bellPipe(file: string): BellPipe {
  return {
    name: 'pipe',
    post: (text) => Promise.resolve(write(file, text)),
    release() {
      // Out of the way first: a waiter that is not at the pipe yet then finds none. Two workers may be at it
      // at once, and one of them finds nothing any more.
      const left = `${file}.left`
      ifPossible(() => fs.renameSync(file, left))
      write(left, '')
      ifPossible(() => fs.rmSync(left, { force: true }))
      ifPossible(() => fs.rmSync(`${file}.waiter`, { force: true }))
    },
  }
}

function ifPossible(step: () => void): void {
  try {
    step()
  } catch {
    // It stays for whoever comes next.
  }
}

/** The other end: makes the pipe and hears every bell. Throws where the system has no such pipes. */
export function hearBells(file: string, onBell: (text: string) => void): { close(): void } {
  // The client has just begun, so what bears its number is of a client before it: in a container they repeat.
  fs.rmSync(file, { force: true })
  execFileSync('mkfifo', ['-m', '600', file], { stdio: 'ignore' })
  // Opened in both directions, so that a bell that was written and left is not the end of it.
  const pipe = new net.Socket({ fd: fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_NONBLOCK) })
  pipe.on('error', () => pipe.destroy())
  createInterface({ input: pipe }).on('line', (line) => {
    if (line !== '') onBell(line)
  })
  return { close: () => void pipe.destroy() }
}

/** Clients that were killed together with all they started leave their pipe, and a waiter at it. */
export function releaseLeftPipes(home_root: string, alive = processAlive): void {
  const folder = path.join(home_root, 'run')
  let names: string[] = []
  ifPossible(() => (names = fs.readdirSync(folder)))
  for (const name of names) {
    const pid = Number(/^claude-(\d+)\.bell$/.exec(name)?.[1] ?? Number.NaN)
    if (Number.isInteger(pid) && !alive(pid)) bellPipe(path.join(folder, name)).release()
  }
}

/** One line. Without a reader the open is refused, so nothing is ever left in a pipe for nobody. */
function write(file: string, text: string): Posted {
  let handle: number
  try {
    // What is no pipe would take any line.
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
