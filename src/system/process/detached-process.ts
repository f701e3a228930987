/**
 * A process that outlives its parent. A file identifies it, so that the next process reuses it instead of starting a
 * second one.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { openOutput } from '../files/log-rotation.ts'
import { writePidFile, livePid } from './pid-file.ts'
import { processInstance } from './process-info.ts'
import type { InstanceId } from '../../contracts/ids.ts'

/** Operations that do not depend on how it is started. */
export interface IdentifiedProcess {
  alive(): boolean
  /** Returns null if it does not run, or cannot be identified. */
  instanceId(): InstanceId | null
  /** Asks it to end without waiting. */
  stop(): void
}

export interface DetachedProcess extends IdentifiedProcess {
  /** Starts it unless it runs. Throws if the program cannot be run. */
  ensure(): 'started' | 'lives'
}

/** `note_file` identifies the process. */
export function identifiedProcess(note_file: string): IdentifiedProcess {
  return {
    alive: () => livePid(note_file) !== null,
    instanceId() {
      const pid = livePid(note_file)
      return pid === null ? null : processInstance(pid)
    },
    stop() {
      const running = livePid(note_file)
      if (running === null) return
      try {
        process.kill(running, 'SIGTERM')
      } catch {
        // It has ended meanwhile.
      }
    },
  }
}

export function detachedProcess(spec: {
  program: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
  /** File that identifies the process, as in `identifiedProcess`. */
  note_file: string
  /** File for its output. */
  output_file: string
}): DetachedProcess {
  const identified = identifiedProcess(spec.note_file)
  return {
    ...identified,
    ensure() {
      if (identified.alive()) return 'lives'
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
        writePidFile(spec.note_file, pid)
        return 'started'
      } finally {
        fs.closeSync(output)
      }
    },
  }
}
