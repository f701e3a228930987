/** Runs a program for a shim: own process group, one line on stdin, bounded output. */
import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import { processAlive, processStartTime } from './process-info.ts'

export interface SurfaceCommandSpec {
  argv: readonly string[]
  /** Written to stdin, which is then closed. */
  line: string
  env: NodeJS.ProcessEnv
  /** File for its output, which is truncated first. A pipe would end with this process and terminate the program. */
  output_file: string
  /** Maximum size of the output that is returned at the end. */
  output_bytes_max: number
}

/** Never throws: a program that cannot be started has no pid and ends at once with the reason. */
export function startSurfaceCommand(spec: SurfaceCommandSpec) {
  let child: ChildProcess
  try {
    child = spawnGroup(spec)
  } catch (error) {
    const exit = { code: null, reason: String(error), output: '' }
    return { pid: undefined, started: null, exited: Promise.resolve(exit), kill: () => {} }
  }
  const { pid } = child
  // A program may close its stdin without reading the doorbell. Without free file descriptors there is no stdin.
  child.stdin?.on('error', () => {})
  child.stdin?.end(spec.line)
  const exited = new Promise<{ code: number | null; reason: string; output: string }>((resolve) => {
    const end = (code: number | null, reason: string) => resolve({ code, reason, output: readOutput(spec) })
    child.once('error', (error) => end(null, error.message))
    // `exit`, not `close`, because a background child may keep the streams open.
    child.once('exit', (code, os_signal) => end(code, os_signal ?? `exit code ${code}`))
  })
  return {
    pid,
    started: pid === undefined ? null : processStartTime(pid),
    exited,
    kill: () => pid !== undefined && killGroup(pid),
  }
}

function spawnGroup({ argv, env, output_file }: SurfaceCommandSpec): ChildProcess {
  const [file = '', ...args] = argv
  // Append mode, because background children of an earlier program may still write to it.
  const output = fs.openSync(output_file, 'a', 0o600)
  try {
    fs.ftruncateSync(output)
    // A separate process group, so that a timeout kills all of its children.
    return spawn(file, args, { env, stdio: ['pipe', output, output], detached: true, windowsHide: true })
  } finally {
    fs.closeSync(output)
  }
}

/** Returns the start of the output. */
function readOutput({ output_file, output_bytes_max }: SurfaceCommandSpec): string {
  const beginning = Buffer.alloc(output_bytes_max)
  try {
    const file = fs.openSync(output_file, 'r')
    try {
      return beginning.toString('utf8', 0, fs.readSync(file, beginning, 0, output_bytes_max, 0))
    } finally {
      fs.closeSync(file)
    }
  } catch (error) {
    return `(its output could not be read: ${String(error)})`
  }
}

export function killGroup(pid: number): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch {
    // Already ended.
  }
}

/** Whether the process belongs to this user. A process that cannot be signalled has only reused the pid. */
export function maySignal(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/**
 * Whether the process started at that time is running, rather than a later one with its pid. If its start time is
 * unknown, or cannot be read now (no free descriptors), it counts as running, because starting a second one would be
 * worse. Processes of other users never count, even if they are hidden.
 */
export function programAlive(pid: number, started: string | null): boolean {
  if (started === null) return processAlive(pid)
  const actual = processStartTime(pid)
  return actual === null ? maySignal(pid) && processAlive(pid) : actual === started
}

/** The same with certainty, as required before killing. */
export function programIs(pid: number, started: string | null): boolean {
  return started !== null && processStartTime(pid) === started
}
