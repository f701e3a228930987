/** Asks a program that answers at once and ends, such as `ps`. */
import { execFile } from 'node:child_process'

export interface ProgramAnswer {
  /** Null where it could not be run, or did not end in time. */
  code: number | null
  stdout: string
  /** What it complained of, or why it could not be run. */
  stderr: string
}

export function askProgram(
  program: string,
  args: readonly string[],
  timeout_ms: number,
): Promise<ProgramAnswer> {
  return new Promise((resolve) => {
    const options = { timeout: timeout_ms, killSignal: 'SIGKILL', maxBuffer: ANSWER_BYTES_MAX } as const
    const child = execFile(program, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null
      resolve({ code, stdout, stderr: code === null ? (error?.message ?? '') : stderr })
    })
    child.stdin?.end()
  })
}

const ANSWER_BYTES_MAX = 16 * 1024 * 1024
