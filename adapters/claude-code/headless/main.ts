/**
 * Keeps a headless Claude Code session for a persona; started and supervised by the persona's daemon. It exits
 * with its client. The daemon restarts it with backoff, and it resumes the session.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { waitForOrphanedClient } from './orphaned-client.ts'
import {
  isSessionMissing,
  keepSession,
  SessionNote,
  type ClientProcess,
  type NoteStore,
} from './kept-session.ts'
import { exitCodeOf } from '../../../src/contracts/errors/exit-codes.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { wakePipeFile, readWakePipe } from '../../../src/system/ipc/wake-pipe.ts'
import { clientProgram, withoutOuterSession } from '../../../src/system/clients/client-discovery.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { nodeProgram } from '../../../src/system/process/node-program.ts'
import { leaveWithParent } from '../../../src/system/process/parent-watch.ts'
import { printProblem } from '../../../src/system/process/problem-output.ts'
import { processStartTime } from '../../../src/system/process/process-info.ts'
import { killGroup, programAlive, programIs } from '../../../src/system/process/surface-command.ts'
import {
  shimEnvironment,
  workingDirectory,
  type ShimEnvironment,
} from '../../../src/system/clients/shim-environment.ts'
import { readText } from '../../../src/system/files/watch-file.ts'
import { writeFileAtomic } from '../../../src/system/files/atomic-write.ts'
import { parseJsonAs } from '../../../src/contracts/validation/json.ts'
import { TERMINATION_SIGNALS } from '../../../src/system/process/termination-signals.ts'

/** Maximum logged length of a line from the client's stderr, in characters. */
const STDERR_LOG_MAX = 4_096

async function main(): Promise<void> {
  const place = shimEnvironment('claude-headless')
  const project = workingDirectory(place)
  const program = clientProgram('claude-code', { ...place, env: process.env })
  // The client finishes its turn by itself after its stdin was closed.
  leaveWithParent()
  const notes = noteFile(path.join(place.paths.run_dir, 'claude-headless.json'))
  const earlier = notes.read()
  if (earlier !== null && earlier.pid !== null) {
    const { pid, started } = earlier
    const programs = { alive: programAlive, is: programIs, killGroup }
    await waitForOrphanedClient({ pid, started }, { ...programs, clock: systemClock, log: place.log })
  }

  const { client, end } = startClient(place, { project, program, notes })
  const session = keepSession({
    notes,
    newSessionId: randomUUID,
    start: client,
    permissions: place.settings?.permissions ?? 'reject',
    log: place.log,
  })
  lendStdin(place, notes.read()?.pid ?? null, (text) => session.ring(text))
  for (const os_signal of TERMINATION_SIGNALS) process.once(os_signal, end)
}

function startClient(
  { home, identity, log }: ShimEnvironment,
  { project, program, notes }: { project: string; program: string; notes: NoteStore },
) {
  let leaving = false
  let stop = (): void => process.exit(0)
  // This bundle is located in the plugin's folder.
  const plugin = import.meta.dirname
  const formats = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose']

  function client(extra_args: readonly string[]): ClientProcess {
    const child = spawn(
      program,
      ['-p', ...formats, '--plugin-dir', plugin, '--name', identity, ...extra_args],
      {
        cwd: project,
        env: {
          ...withoutOuterSession(process.env),
          TURNBELL_HOME: home.root,
          TURNBELL_PERSONA: identity,
          TURNBELL_NODE: nodeProgram(process.env),
        },
        stdio: ['pipe', 'pipe', 'pipe'],
        // Otherwise keys pressed in the daemon's terminal, such as Ctrl-C, would reach the agent.
        detached: true,
        windowsHide: true,
      },
    )
    const { pid } = child
    child.stdin.on('error', () => {})
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.warn({ line: line.slice(0, STDERR_LOG_MAX) }, 'client stderr')
      const note = notes.read()
      if (!isSessionMissing(line) || note === null) return
      try {
        notes.write({ ...note, begun: false })
      } catch (error) {
        log.warn({ err: error }, 'session note could not be written')
      }
    })
    child.once('error', (error) => onEnded(error.message))
    child.once('exit', (code, os_signal) => onEnded(os_signal ?? `exit code ${code}`))
    stop = () => {
      leaving = true
      child.stdin.end()
      systemClock.after(LIMITS.claude_leave_ms, () => child.kill('SIGTERM'))
      systemClock.after(2 * LIMITS.claude_leave_ms, () => pid !== undefined && killGroup(pid))
    }
    return {
      pid,
      started: pid === undefined ? null : processStartTime(pid),
      write: (line) => void child.stdin.write(`${JSON.stringify(line)}\n`),
      kill: () => pid !== undefined && killGroup(pid),
      onLine: (listener) => void createInterface({ input: child.stdout }).on('line', listener),
    }
  }

  function onEnded(reason: string): void {
    log[leaving ? 'info' : 'error']({ reason }, 'client exited')
    process.exit(leaving ? 0 : 1)
  }
  return { client, end: () => stop() }
}

/** Listens on the wake pipe. The session's worker writes to it when the inbox does not accept a doorbell. */
function lendStdin({ home, log }: ShimEnvironment, pid: number | null, ring: (text: string) => void): void {
  if (pid === null) return
  try {
    readWakePipe(wakePipeFile(home.root, pid), ring)
  } catch (error) {
    log.warn({ err: error }, 'wake pipe unavailable; session is rung through its inbox only')
  }
}

function noteFile(file: string): NoteStore {
  return {
    read: () => parseJsonAs(SessionNote, readText(file)),
    write: (note) => writeFileAtomic(file, JSON.stringify(note)),
  }
}

main().catch((error: unknown) => {
  printProblem(error, false)
  process.exit(exitCodeOf(error))
})
