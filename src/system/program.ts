/** Runs a program for a shim: its own process group, one line on stdin, bounded output. */
import { spawn } from 'node:child_process'
import { processAlive, processStartTime } from './processes.ts'

export interface ProgramSpec {
  argv: readonly string[]
  /** Written to stdin, which is then closed. */
  line: string
  env: NodeJS.ProcessEnv
  output_bytes_max: number
}

/** Never throws: a program that cannot be started has no pid and ends at once with the reason. */
export function startProgram({ argv, line, env, output_bytes_max }: ProgramSpec) {
  const [file = '', ...args] = argv
  // A group of its own, so that a time-out reaches everything it started.
  const child = spawn(file, args, { env, stdio: ['pipe', 'pipe', 'pipe'], detached: true, windowsHide: true })
  let output = ''
  const collect = (chunk: Buffer) => {
    // Read to the end all the same: a full pipe would stop the program.
    if (output.length < output_bytes_max)
      output += chunk.toString().slice(0, output_bytes_max - output.length)
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  // A program that does not care for the doorbell closes its stdin; that is its right.
  child.stdin.on('error', () => {})
  child.stdin.end(line)
  const exited = new Promise<{ code: number | null; reason: string; output: string }>((resolve) => {
    child.once('error', (error) => resolve({ code: null, reason: error.message, output }))
    // `exit`, not `close`: something it left in the background may hold the pipes for ever.
    child.once('exit', (code, os_signal) =>
      resolve({ code, reason: os_signal ?? `exit code ${code}`, output }),
    )
  })
  return {
    pid: child.pid,
    started: child.pid === undefined ? null : processStartTime(child.pid),
    exited,
    kill: () => child.pid !== undefined && killGroup(child.pid),
  }
}

export function killGroup(pid: number): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch {
    // Gone already.
  }
}

/** True for exactly the process that was started then, not for a later one with its number. */
export function programAlive(pid: number, started: string | null): boolean {
  return started === null ? processAlive(pid) : processStartTime(pid) === started
}
