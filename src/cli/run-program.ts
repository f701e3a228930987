/** Runs another program to its end. Handed in, so that tests can watch what would be run. */
import { spawn } from 'node:child_process'

export interface ProgramResult {
  /** Null when the program is not there, or did not end in time. */
  code: number | null
  stdout: string
  stderr: string
  /** It was ended, because it took longer than it was given. */
  late?: true
}

/** Without `within_ms` the program may take its time. */
export type ProgramRunner = (
  command: string,
  args: readonly string[],
  options?: { within_ms: number },
) => Promise<ProgramResult>

export const runProgram: ProgramRunner = (command, args, options) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const patience =
      options === undefined
        ? undefined
        : setTimeout(() => {
            resolve({ code: null, stdout, stderr, late: true })
            child.kill('SIGKILL')
            // What it started itself may still hold these.
            child.stdout.destroy()
            child.stderr.destroy()
          }, options.within_ms)
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
    child.once('error', (error) => resolve({ code: null, stdout, stderr: error.message }))
    child.once('close', (code) => {
      clearTimeout(patience)
      resolve({ code: code ?? 1, stdout, stderr })
    })
  })
