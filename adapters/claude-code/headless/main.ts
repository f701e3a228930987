/**
 * Keeps a Claude Code session without a window for a persona, started and supervised by its daemon. It
 * ends when its client does: the daemon starts it again, ever more slowly, and it goes on with the session.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { formerClientIsGone } from './former-client.ts'
import {
  forgetsSession,
  keepSession,
  SessionNote,
  type ClientProcess,
  type NoteStore,
} from './kept-session.ts'
import { exitCodeOf } from '../../../src/contracts/exit-codes.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { bellPipeFile, hearBells } from '../../../src/system/bell-pipe.ts'
import { clientProgram, withoutOuterSession } from '../../../src/system/clients.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { nodeProgram } from '../../../src/system/node-program.ts'
import { leaveWithParent } from '../../../src/system/parent.ts'
import { printProblem } from '../../../src/system/problem-output.ts'
import { processStartTime } from '../../../src/system/processes.ts'
import { killGroup, programAlive, programIs } from '../../../src/system/program.ts'
import { shimPlace, workingDirectory, type ShimPlace } from '../../../src/system/shim-place.ts'
import { readText } from '../../../src/system/watch-text.ts'
import { replaceFile } from '../../../src/system/replace-file.ts'
import { jsonAs } from '../../../src/contracts/json.ts'
import { TERMINATION_SIGNALS } from '../../../src/system/termination.ts'

/** So much of a line that the client says is logged. */
const SAID_CHARACTERS = 4_096

async function main(): Promise<void> {
  const place = shimPlace('claude-headless')
  const project = workingDirectory(place)
  const program = clientProgram('claude-code', { ...place, env: process.env })
  // The client is left to end its turn by itself once nobody holds its stdin any more.
  leaveWithParent()
  const notes = noteFile(path.join(place.paths.run_dir, 'claude-headless.json'))
  const former = notes.read()
  if (former !== null && former.pid !== null) {
    const { pid, started } = former
    const programs = { alive: programAlive, is: programIs, killGroup }
    await formerClientIsGone({ pid, started }, { ...programs, clock: systemClock, log: place.log })
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
  { home, identity, log }: ShimPlace,
  { project, program, notes }: { project: string; program: string; notes: NoteStore },
) {
  let leaving = false
  let stop = (): void => process.exit(0)
  // This bundle lies in the plugin's folder.
  const plugin = import.meta.dirname
  const formats = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose']

  function client(words: readonly string[]): ClientProcess {
    const child = spawn(program, ['-p', ...formats, '--plugin-dir', plugin, '--name', identity, ...words], {
      cwd: project,
      env: {
        ...withoutOuterSession(process.env),
        TURNBELL_HOME: home.root,
        TURNBELL_PERSONA: identity,
        TURNBELL_NODE: nodeProgram(process.env),
      },
      stdio: ['pipe', 'pipe', 'pipe'],
      // What is pressed in the daemon's terminal is not meant for the agent.
      detached: true,
      windowsHide: true,
    })
    const { pid } = child
    child.stdin.on('error', () => {})
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.warn({ line: line.slice(0, SAID_CHARACTERS) }, 'the client says')
      const note = notes.read()
      if (!forgetsSession(line) || note === null) return
      try {
        notes.write({ ...note, begun: false })
      } catch (error) {
        log.warn({ err: error }, 'it was not noted that the session is gone')
      }
    })
    child.once('error', (error) => ended(error.message))
    child.once('exit', (code, os_signal) => ended(os_signal ?? `exit code ${code}`))
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

  function ended(reason: string): void {
    log[leaving ? 'info' : 'error']({ reason }, 'the client ended')
    process.exit(leaving ? 0 : 1)
  }
  return { client, end: () => stop() }
}

/** The worker in the session finds this end of the pipe where its inbox takes no bell. */
function lendStdin({ home, log }: ShimPlace, pid: number | null, ring: (text: string) => void): void {
  if (pid === null) return
  try {
    hearBells(bellPipeFile(home.root, pid), ring)
  } catch (error) {
    log.warn({ err: error }, 'no pipe for bells; this session is rung by its inbox alone')
  }
}

function noteFile(file: string): NoteStore {
  return {
    read: () => jsonAs(SessionNote, readText(file)),
    write: (note) => replaceFile(file, JSON.stringify(note)),
  }
}

main().catch((error: unknown) => {
  printProblem(error, false)
  process.exit(exitCodeOf(error))
})
