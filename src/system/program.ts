/** Runs a program for a shim: its own process group, one line on stdin, bounded output. */
import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import { processAlive, processStartTime } from './processes.ts'

export interface ProgramSpec {
  argv: readonly string[]
  /** Written to stdin, which is then closed. */
  line: string
  env: NodeJS.ProcessEnv
  /** Takes what it prints; what an earlier one printed goes. A pipe would end with us, and the program of it. */
  output_file: string
  /** How much of that is told at the end. */
  output_bytes_max: number
}

/** Never throws: a program that cannot be started has no pid and ends at once with the reason. */
export function startProgram(spec: ProgramSpec) {
  let child: ChildProcess
  try {
    child = spawned(spec)
  } catch (error) {
    const exit = { code: null, reason: String(error), output: '' }
    return { pid: undefined, started: null, exited: Promise.resolve(exit), kill: () => {} }
  }
  const { pid } = child
  // A program that does not care for the doorbell closes its stdin; that is its right. Without room for more files
  // there is none.
  child.stdin?.on('error', () => {})
  child.stdin?.end(spec.line)
  const exited = new Promise<{ code: number | null; reason: string; output: string }>((resolve) => {
    const end = (code: number | null, reason: string) => resolve({ code, reason, output: printed(spec) })
    child.once('error', (error) => end(null, error.message))
    // `exit`, not `close`: something it left in the background may go on for ever.
    child.once('exit', (code, os_signal) => end(code, os_signal ?? `exit code ${code}`))
  })
  return {
    pid,
    started: pid === undefined ? null : processStartTime(pid),
    exited,
    kill: () => pid !== undefined && killGroup(pid),
  }
}

function spawned({ argv, env, output_file }: ProgramSpec): ChildProcess {
  const [file = '', ...args] = argv
  // To append: what an earlier one left in the background prints here as well.
  const output = fs.openSync(output_file, 'a', 0o600)
  try {
    fs.ftruncateSync(output)
    // A group of its own, so that a time-out reaches everything it started.
    return spawn(file, args, { env, stdio: ['pipe', output, output], detached: true, windowsHide: true })
  } finally {
    fs.closeSync(output)
  }
}

/** The beginning of it. */
function printed({ output_file, output_bytes_max }: ProgramSpec): string {
  const beginning = Buffer.alloc(output_bytes_max)
  try {
    const file = fs.openSync(output_file, 'r')
    try {
      return beginning.toString('utf8', 0, fs.readSync(file, beginning, 0, output_bytes_max, 0))
    } finally {
      fs.closeSync(file)
    }
  } catch (error) {
    return `(what it printed could not be read: ${String(error)})`
  }
}

export function killGroup(pid: number): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch {
    // Gone already.
  }
}

/** What turnbell started is of its own user; who may not be signalled has only the number. */
export function maySignal(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/**
 * True for exactly the process that was started then, not for a later one with its number. Without its start it may
 * be either. One whose start cannot be looked up at this moment (no room for more open files) is taken for the one that
 * was meant: a second one started beside it would be worse. Another user's never is, also where those are hidden.
 */
export function programAlive(pid: number, started: string | null): boolean {
  if (started === null) return processAlive(pid)
  const found = processStartTime(pid)
  return found === null ? maySignal(pid) && processAlive(pid) : found === started
}

/** The same where it is known for sure, as it must be of one that is to be killed. */
export function programIs(pid: number, started: string | null): boolean {
  return started !== null && processStartTime(pid) === started
}
