/** Runs a command that ends quickly, such as `ps`. */
import { execFile } from 'node:child_process'

export interface CommandResult {
  /** Null if it could not be run or timed out. */
  code: number | null
  stdout: string
  /** Its error output, or the reason why it could not be run. */
  stderr: string
}

export function runCommand(
  program: string,
  args: readonly string[],
  timeout_ms: number,
): Promise<CommandResult> {
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
