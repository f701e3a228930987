/** Runs another program to its end. Handed in, so that tests can watch what would be run. */
import { spawn } from 'node:child_process'

export interface ProgramResult {
  /** Null when the program is not there. */
  code: number | null
  stdout: string
  stderr: string
}

export type ProgramRunner = (command: string, args: readonly string[]) => Promise<ProgramResult>

export const runProgram: ProgramRunner = (command, args) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
    child.once('error', (error) => resolve({ code: null, stdout, stderr: error.message }))
    child.once('close', (code) => resolve({ code: code ?? 1, stdout, stderr }))
  })
