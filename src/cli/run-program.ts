/** Runs another program to its end. Injected, so that tests can record the command lines. */
import { spawn } from 'node:child_process'

export interface ProgramResult {
  /** Null if the program does not exist or did not end in time. */
  code: number | null
  stdout: string
  stderr: string
  /** The program was killed at its time limit. */
  late?: true
}

/** Without `within_ms` there is no time limit. */
export type ProgramRunner = (
  command: string,
  args: readonly string[],
  options?: { within_ms: number },
) => Promise<ProgramResult>

export const runProgram: ProgramRunner = (command, args, options) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const deadline =
      options === undefined
        ? undefined
        : setTimeout(() => {
            resolve({ code: null, stdout, stderr, late: true })
            child.kill('SIGKILL')
            // Processes that it started may keep these open.
            child.stdout.destroy()
            child.stderr.destroy()
          }, options.within_ms)
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
    child.once('error', (error) => resolve({ code: null, stdout, stderr: error.message }))
    child.once('close', (code) => {
      clearTimeout(deadline)
      resolve({ code: code ?? 1, stdout, stderr })
    })
  })
