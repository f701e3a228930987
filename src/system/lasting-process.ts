/**
 * A process that outlives the one that started it: a note in a file says which it is, so that whoever
 * comes next goes on with it instead of starting a second one.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { openOutput } from './long-file.ts'
import { noteProcess, notedPid } from './process-note.ts'
import { processInstance } from './processes.ts'
import type { InstanceId } from '../contracts/ids.ts'

/** What can be asked of it without knowing how it is started. */
export interface NotedProcess {
  alive(): boolean
  /** Null where it does not live, or cannot be told from a later one. */
  instanceId(): InstanceId | null
  /** Asks it to end, and does not wait. */
  stop(): void
}

export interface LastingProcess extends NotedProcess {
  /** Starts it where none lives. Throws where the program cannot be run. */
  ensure(): 'started' | 'lives'
}

/** `note_file` remembers the process. */
export function notedProcess(note_file: string): NotedProcess {
  return {
    alive: () => notedPid(note_file) !== null,
    instanceId() {
      const pid = notedPid(note_file)
      return pid === null ? null : processInstance(pid)
    },
    stop() {
      const running = notedPid(note_file)
      if (running === null) return
      try {
        process.kill(running, 'SIGTERM')
      } catch {
        // Gone meanwhile.
      }
    },
  }
}

export function lastingProcess(spec: {
  program: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
  /** Remembers the process, as for `notedProcess`. */
  note_file: string
  /** Takes what it prints. */
  output_file: string
}): LastingProcess {
  const noted = notedProcess(spec.note_file)
  return {
    ...noted,
    ensure() {
      if (noted.alive()) return 'lives'
      const output = openOutput(spec.output_file)
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
        noteProcess(spec.note_file, pid)
        return 'started'
      } finally {
        fs.closeSync(output)
      }
    },
  }
}
