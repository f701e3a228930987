/**
 * The `command` surface: runs a configured program for each doorbell.
 *
 * How the turn is determined:
 * - With a status file: it contains `idle` or `busy` and is written by the owner of the agent. The program only
 *   passes the doorbell on; its run is not a turn. Any other content, or a missing file, is `unknown`, and no
 *   doorbell is sent.
 * - Without one: the program's run is the turn. A program that drains does so before it exits. One that does not
 *   leaves its signals pending, so the daemon rings again at the end of the run.
 *
 * A successful run ends the turn, which confirms its drains. A failed or aborted run may have lost signals: the
 * surface then continues with a new session id, so the hub releases the unconfirmed drains of the old session. The
 * program reads the id from TURNBELL_SESSION_ID and drains under it. A new session is rung at once if signals wait,
 * so after a failure the turn is `unknown` for a while, with backoff.
 */
import * as z from 'zod'
import type { RingResult, SurfaceStatus } from '../../src/contracts/control.ts'
import type { CommandSettings } from '../../src/contracts/config.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import { DoorbellId, type Identity } from '../../src/contracts/ids.ts'
import { parseJsonAs } from '../../src/contracts/validation/json.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Turn } from '../../src/contracts/registry.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Ids } from '../../src/ports/random.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

export interface ProgramExit {
  /** Null if an OS signal ended it or if it could not be started. */
  code: number | null
  reason: string
  /** The beginning of its output, for the log. */
  output: string
}

export interface Program {
  /** Undefined if it could not be started; `exited` then contains the reason. */
  pid: number | undefined
  /** Start time, to detect a reused pid; null if the system does not report it. */
  started: string | null
  exited: Promise<ProgramExit>
  /** Kills it and every process it started. */
  kill(): void
}

export interface CommandDeps {
  identity: Identity
  settings: CommandSettings
  /** Starts argv without a shell, in a process group of its own, with one line on stdin. It outlives this shim. */
  start(argv: readonly string[], line: string, env: Record<string, string>): Program
  /** Whether a program that an earlier shim started is still running. */
  alive(pid: number, started: string | null): boolean
  /** Like `alive`, but true only if the process is certainly the same one. */
  is(pid: number, started: string | null): boolean
  killGroup(pid: number): void
  /** Stores the running program, so that it is found after a kill -9 of this shim. */
  run_file: { read(): string | null; write(text: string): void; remove(): void }
  clock: Clock
  ids: Ids
  log: Log
}

/** Content of the run file. */
const RunNote = z.object({
  pid: z.number().int().positive(),
  started: z.string().nullable(),
  session_id: z.string().min(1),
  deadline_ms: z.number(),
  /** The doorbell it was started with; absent in files of older shims. */
  doorbell_id: DoorbellId.nullable().default(null),
})

export interface CommandSurface extends Surface {
  /** Starts reporting. Adopts a program that an earlier shim left running. */
  open(host: SurfaceHost): void
  /** Handles the status file's text; null if there is no file. Called only if a status file is configured. */
  statusFileRead(text: string | null): void
  close(): void
}

const ORPHAN_POLL_MS = 100

export function commandSurface(deps: CommandDeps): CommandSurface {
  const { clock } = deps
  const state = agentTurn(deps)
  const run_file = runFile(deps)
  const runs = programRuns(deps, state, run_file)

  return {
    status: async () => state.status(),

    async notify_surface(doorbell): Promise<RingResult> {
      if (state.turn !== 'idle' || runs.isRunning()) return { accepted: false, proof: 'deferred' }
      const exited = runs.run(doorbell)
      // A turn may last long, so after a while the doorbell counts as sent; the turn is reported separately.
      const timeout = new Promise<null>((resolve) =>
        clock.after(LIMITS.command_answer_ms, () => resolve(null)),
      )
      const exit = await Promise.race([exited, timeout])
      if (exit === null || exit.code === 0) return { accepted: true, proof: 'sent' }
      return { accepted: false, proof: 'failed' }
    },

    async resume_surface() {
      state.report()
    },

    open(daemon) {
      state.host = daemon
      const note = run_file.read()
      if (note !== null && deps.alive(note.pid, note.started)) runs.adopt(note)
      else run_file.remove()
      state.report()
    },

    statusFileRead(text) {
      const word = text?.trim()
      // An empty file is about to be rewritten, possibly with the same turn.
      if (word === '') return
      state.move(word === 'idle' || word === 'busy' ? word : 'unknown')
    },

    close() {
      runs.close()
      state.host = null
    },
  }
}

/** The turn of the agent, and its reports to the daemon. */
interface AgentTurn {
  /** Null before `open` was called. */
  host: SurfaceHost | null
  session_id: string
  turn: Turn
  turn_seq: number
  /** The doorbell of the running program, until its turn begins. */
  outstanding: DoorbellId | null
  status(): SurfaceStatus
  report(): void
  /** Sets the turn and reports it, even if it is unchanged. */
  move(to: Turn): void
}

/** Without a status file the program's run is the turn. */
const isRunTurn = ({ settings }: CommandDeps) => settings.status_file === undefined

function agentTurn(deps: CommandDeps): AgentTurn {
  const state: AgentTurn = {
    host: null,
    session_id: deps.ids.next(),
    turn: isRunTurn(deps) ? 'idle' : 'unknown',
    // Turn numbers start with the time, because they must not decrease when a killed shim is replaced.
    turn_seq: deps.clock.now(),
    outstanding: null,
    status: () => ({
      surface: 'command',
      session_id: state.session_id,
      delivery: 'push',
      turn: state.turn,
      turn_seq: state.turn_seq,
      ...(state.outstanding !== null && { outstanding_doorbell_id: state.outstanding }),
    }),
    report: () => void state.host?.report(state.status()),
    move(to) {
      if (to === 'busy' && state.turn !== 'busy') state.turn_seq += 1
      if (to === 'busy') state.outstanding = null
      state.turn = to
      state.report()
    },
  }
  return state
}

type RunNote = z.infer<typeof RunNote>

interface RunFile {
  /** Returns null if the file does not exist or is invalid. */
  read(): RunNote | null
  /** Kills the program if the file cannot be written: a later shim would ring into its turn. */
  write(program: Program, note: Pick<RunNote, 'session_id' | 'doorbell_id'>): void
  /** A failure is only logged, because the file names a process that has exited. */
  remove(): void
}

function runFile({ run_file, settings, clock, log }: CommandDeps): RunFile {
  return {
    read: () => parseJsonAs(RunNote, run_file.read()),
    write(program, { session_id, doorbell_id }) {
      const { pid, started } = program
      if (pid === undefined) return
      const deadline_ms = clock.now() + settings.timeout_ms
      const note = { pid, started, session_id, deadline_ms, doorbell_id }
      try {
        run_file.write(JSON.stringify(note))
      } catch (error) {
        log.error({ err: error, pid }, 'command killed, because its run file could not be written')
        program.kill()
      }
    },
    remove() {
      try {
        run_file.remove()
      } catch (error) {
        log.warn({ err: error }, 'run file of the command could not be removed')
      }
    },
  }
}

interface ProgramRuns {
  isRunning(): boolean
  run(doorbell: Doorbell): Promise<ProgramExit>
  /** Waits for the program of a killed shim: its turn continues, and no doorbell may be sent during it. */
  adopt(note: RunNote): void
  close(): void
}

function programRuns(deps: CommandDeps, state: AgentTurn, run_file: RunFile): ProgramRuns {
  const { settings, clock, log } = deps
  const run_is_turn = isRunTurn(deps)
  const failures = failedRuns(state, deps)
  let running: Program | null = null
  let orphan_timer: Timer | null = null

  /** `result` is null if the program could not be started: it has drained nothing, so its session continues. */
  function onExit(result: 'success' | 'failure' | null): void {
    running = null
    state.outstanding = null
    run_file.remove()
    if (result === 'failure') return failures.failed()
    failures.reset()
    state.move(run_is_turn ? 'idle' : state.turn)
  }

  return {
    isRunning: () => running !== null || orphan_timer !== null,
    async run(doorbell) {
      if (run_is_turn) state.move('busy')
      else {
        state.outstanding = doorbell.doorbell_id
        state.report()
      }
      const program = startProgram(deps, doorbell, state.session_id)
      running = program
      run_file.write(program, { session_id: state.session_id, doorbell_id: state.outstanding })
      const timeout = clock.after(settings.timeout_ms, () => {
        log.warn({ timeout_ms: settings.timeout_ms }, 'command timed out and was killed')
        program.kill()
      })
      const exit = await program.exited
      timeout.cancel()
      if (exit.code !== 0) log.warn(exit, 'command failed')
      onExit(program.pid === undefined ? null : exit.code === 0 ? 'success' : 'failure')
      return exit
    },
    adopt(note) {
      state.session_id = note.session_id
      if (run_is_turn) state.turn = 'busy'
      else state.outstanding = note.doorbell_id
      log.info({ pid: note.pid }, 'command of an earlier shim adopted')
      orphan_timer = clock.every(ORPHAN_POLL_MS, () => {
        if (deps.alive(note.pid, note.started)) {
          if (clock.now() <= note.deadline_ms) return
          // Otherwise the pid may have been reused; that process is no longer waited for.
          if (deps.is(note.pid, note.started)) return deps.killGroup(note.pid)
        }
        orphan_timer?.cancel()
        orphan_timer = null
        // The exit code is unknown for a process that is not a child, so it counts as failed.
        onExit('failure')
      })
    },
    close() {
      orphan_timer?.cancel()
      failures.close()
    },
  }
}

function startProgram(deps: CommandDeps, doorbell: Doorbell, session_id: string): Program {
  try {
    return deps.start(deps.settings.argv, `${JSON.stringify(doorbell)}\n`, {
      TURNBELL_PERSONA: deps.identity,
      TURNBELL_SESSION_ID: session_id,
    })
  } catch (error) {
    const exit = { code: null, reason: String(error), output: '' }
    return { pid: undefined, started: null, exited: Promise.resolve(exit), kill() {} }
  }
}

/** The consecutive failed runs: each one continues with a new session, after a longer time with an unknown turn. */
function failedRuns(state: AgentTurn, deps: CommandDeps) {
  const { clock, ids } = deps
  let failures = 0
  let retry_timer: Timer | null = null
  return {
    failed(): void {
      state.session_id = ids.next()
      if (!isRunTurn(deps)) return state.report()
      const pause_ms = Math.min(LIMITS.command_pause_min_ms * 2 ** failures, LIMITS.command_pause_max_ms)
      failures = Math.min(failures + 1, FAILURES_MAX)
      state.move('unknown')
      retry_timer = clock.after(pause_ms, () => {
        retry_timer = null
        state.move('idle')
      })
    },
    reset: () => void (failures = 0),
    close: () => retry_timer?.cancel(),
  }
}

/** Upper limit of the failure count; the pause reaches its maximum earlier. */
const FAILURES_MAX = 30
