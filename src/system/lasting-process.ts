/**
 * A process that outlives the one that started it: a note in a file says which it is, so that whoever
 * comes next goes on with it instead of starting a second one.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { z } from 'zod'
import { processStartTime } from './processes.ts'
import { killGroup, programAlive } from './program.ts'
import { readText } from './watch-text.ts'
import { jsonAs } from '../contracts/json.ts'
import { replaceFile } from './replace-file.ts'

const Note = z.object({
  pid: z.number().int().positive(),
  started: z.string().nullable(),
})

export interface LastingProcess {
  /** Starts it where none lives. Throws where the program cannot be run. */
  ensure(): 'started' | 'lives'
  alive(): boolean
  /** Asks it to end, and does not wait. */
  stop(): void
}

export function lastingProcess(spec: {
  program: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
  /** Remembers the process. */
  note_file: string
  /** Takes what it prints. */
  output_file: string
}): LastingProcess {
  const noted = () => {
    const note = jsonAs(Note, readText(spec.note_file))
    return note !== null && programAlive(note.pid, note.started) ? note : null
  }
  return {
    alive: () => noted() !== null,
    ensure() {
      if (noted() !== null) return 'lives'
      const output = fs.openSync(spec.output_file, 'a', 0o600)
      try {
        const child = spawn(spec.program, spec.args, {
          env: spec.env,
          stdio: ['ignore', output, output],
          detached: true,
          windowsHide: true,
        })
        child.on('error', () => {})
        child.unref()
        const { pid } = child
        if (pid === undefined) throw new Error(`${spec.program} could not be started`)
        try {
          replaceFile(spec.note_file, JSON.stringify({ pid, started: processStartTime(pid) }))
        } catch (error) {
          // Nobody would ever find it again, and the next try would start another beside it.
          killGroup(pid)
          throw error
        }
        return 'started'
      } finally {
        fs.closeSync(output)
      }
    },
    stop() {
      const running = noted()
      if (running === null) return
      try {
        process.kill(running.pid, 'SIGTERM')
      } catch {
        // Gone meanwhile.
      }
    },
  }
}
