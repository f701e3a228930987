/**
 * Starts turnbell processes that outlive their starter. Each leads its own process group, so a Ctrl-C in
 * the terminal reaches only `up`, which then stops them in order. What they print goes to a file that has
 * no name any more: a pipe would break in their hands if `up` were killed.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export interface Exit {
  code: number | null
  os_signal: NodeJS.Signals | null
}

export interface Launched {
  pid: number | null
  exited: Promise<Exit>
  /** Null while it runs. */
  exit(): Exit | null
  /** What it printed so far, the last of it. */
  said(): string
  kill(os_signal: NodeJS.Signals): void
}

/** Starts `turnbell ARGS` from the same installation. */
export type Launch = (args: readonly string[]) => Launched

const SAID_BYTES = 8_192

export function createLaunch(node: string, program: string, env: NodeJS.ProcessEnv): Launch {
  return (args) => {
    const output = namelessFile()
    const child = spawn(node, [program, ...args], {
      env,
      detached: true,
      windowsHide: true,
      stdio: ['ignore', output, output],
    })
    let exit: Exit | null = null
    let last = ''
    const exited = new Promise<Exit>((resolve) => {
      const ended = (how: Exit, words: () => string) => {
        if (exit !== null) return
        exit = how
        last = words()
        // Whoever launched it may keep what is told here for good, and launch the next one.
        fs.closeSync(output)
        resolve(how)
      }
      child.once('exit', (code, os_signal) => ended({ code, os_signal }, () => lastOf(output)))
      child.once('error', (error) => ended({ code: null, os_signal: null }, () => error.message))
    })
    return {
      pid: child.pid ?? null,
      exited,
      exit: () => exit,
      said: () => (exit === null ? lastOf(output) : last),
      kill: (os_signal) => void child.kill(os_signal),
    }
  }
}

function namelessFile(): number {
  const file = path.join(os.tmpdir(), `turnbell-${process.pid}-${randomBytes(8).toString('hex')}`)
  const fd = fs.openSync(file, 'wx+', 0o600)
  // Windows keeps the name of an open file; the system's temporary directory is the place for it then.
  if (process.platform !== 'win32') fs.unlinkSync(file)
  return fd
}

function lastOf(fd: number): string {
  const { size } = fs.fstatSync(fd)
  const from = Math.max(0, size - SAID_BYTES)
  const bytes = Buffer.alloc(size - from)
  fs.readSync(fd, bytes, 0, bytes.length, from)
  return bytes.toString('utf8').trim()
}
