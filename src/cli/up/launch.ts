/**
 * Starts turnbell processes that survive their parent. Each leads a process group of its own, so that Ctrl-C reaches only
 * `up`, which then stops them in order. Their output is written to an unlinked file, because a pipe would break if `up`
 * were killed.
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
  /** Returns null while the process runs. */
  exit(): Exit | null
  /** Returns the end of its output. */
  output(): string
  kill(os_signal: NodeJS.Signals): void
}

/** Starts `turnbell ARGS` from the same installation. */
export type Launch = (args: readonly string[]) => Launched

const OUTPUT_BYTES = 8_192

export function createLaunch(node: string, program: string, env: NodeJS.ProcessEnv): Launch {
  return (args) => {
    const file = unlinkedFile()
    const child = spawn(node, [program, ...args], {
      env,
      detached: true,
      windowsHide: true,
      stdio: ['ignore', file, file],
    })
    let exit: Exit | null = null
    let last_output = ''
    const exited = new Promise<Exit>((resolve) => {
      const ended = (how: Exit, readOutput: () => string) => {
        if (exit !== null) return
        exit = how
        last_output = readOutput()
        // Closed at once, because the caller may keep this object while it launches further processes.
        fs.closeSync(file)
        resolve(how)
      }
      child.once('exit', (code, os_signal) => ended({ code, os_signal }, () => endOf(file)))
      child.once('error', (error) => ended({ code: null, os_signal: null }, () => error.message))
    })
    return {
      pid: child.pid ?? null,
      exited,
      exit: () => exit,
      output: () => (exit === null ? endOf(file) : last_output),
      kill: (os_signal) => void child.kill(os_signal),
    }
  }
}

function unlinkedFile(): number {
  const file = path.join(os.tmpdir(), `turnbell-${process.pid}-${randomBytes(8).toString('hex')}`)
  const fd = fs.openSync(file, 'wx+', 0o600)
  // Windows cannot unlink an open file, which then stays in the temporary directory.
  if (process.platform !== 'win32') fs.unlinkSync(file)
  return fd
}

function endOf(fd: number): string {
  const { size } = fs.fstatSync(fd)
  const from = Math.max(0, size - OUTPUT_BYTES)
  const bytes = Buffer.alloc(size - from)
  fs.readSync(fd, bytes, 0, bytes.length, from)
  return bytes.toString('utf8').trim()
}
