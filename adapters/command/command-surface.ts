/**
 * The `command` surface: runs a configured program for each doorbell.
 *
 * Where the turn stands:
 * - With a status file, the file says it: it holds `idle` or `busy`, and whoever owns the agent keeps
 *   it. The program only passes the doorbell on; its run is no turn. Anything else in the file, or no
 *   file, is `unknown`, and nothing is rung then.
 * - Without one, the program's run is the turn: it begins busy and is idle once the program has ended.
 *   That is all a shim can see, and it is enough: a program that drains does so before it ends, and a
 *   program that does not leaves its signals waiting, so the daemon rings again at this boundary.
 *
 * A run that ends well ends the turn, which makes what it drained final. A run that fails, or is cut
 * off, may have died with signals in its hands: the surface then goes on under a new session id, so
 * the hub takes back what the old session drained and had not confirmed. The program finds the id in
 * TURNBELL_SESSION_ID and drains under it. A new session is owed a bell at once, so a program that keeps
 * failing would be run without a pause: its turn is `unknown` for a while first, longer each time.
 */
import * as z from 'zod'
import type { RingResult, SurfaceStatus } from '../../src/contracts/control.ts'
import type { CommandSettings } from '../../src/contracts/config.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import { DoorbellId, type Identity } from '../../src/contracts/ids.ts'
import { jsonAs } from '../../src/contracts/json.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Turn } from '../../src/contracts/registry.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Ids } from '../../src/ports/random.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

export interface ProgramExit {
  /** Null when an os signal ended it, or when it could not be started. */
  code: number | null
  reason: string
  /** The beginning of what it wrote, for the log. */
  output: string
}

export interface Program {
  /** Undefined when it could not be started; `exited` then says why. */
  pid: number | undefined
  /** Tells this process from a later one with the same pid; null where the system cannot say. */
  started: string | null
  exited: Promise<ProgramExit>
  /** Kills it and everything it started. */
  kill(): void
}

export interface CommandDeps {
  identity: Identity
  settings: CommandSettings
  /** Starts argv without a shell, in a process group of its own, with one line on stdin. It outlives this shim. */
  start(argv: readonly string[], line: string, env: Record<string, string>): Program
  /** A program that an earlier shim started and left behind. */
  alive(pid: number, started: string | null): boolean
  /** The same for sure. */
  is(pid: number, started: string | null): boolean
  killGroup(pid: number): void
  /** Remembers the running program across a kill -9 of this shim. */
  run_file: { read(): string | null; write(text: string): void; remove(): void }
  clock: Clock
  ids: Ids
  log: Log
}

/** What the run file holds. */
const RunNote = z.object({
  pid: z.number().int().positive(),
  started: z.string().nullable(),
  session_id: z.string().min(1),
  deadline_ms: z.number(),
  /** What it was started with; older shims did not write it. */
  doorbell_id: DoorbellId.nullable().default(null),
})

export interface CommandSurface extends Surface {
  /** Begins to report. Takes over a program that an earlier shim left running. */
  open(host: SurfaceHost): void
  /** The status file's text, null where there is none. Only called where one is configured. */
  statusFileRead(text: string | null): void
  close(): void
}

const ORPHAN_POLL_MS = 100

export function commandSurface(deps: CommandDeps): CommandSurface {
  const { settings, clock, log } = deps
  const own_turns = settings.status_file === undefined
  let host: SurfaceHost | null = null
  let session_id = deps.ids.next()
  // Turn numbers must not go back when a killed shim is replaced, so they begin with the time.
  let turn_seq = clock.now()
  let turn: Turn = own_turns ? 'idle' : 'unknown'
  let running: Program | null = null
  let orphan: Timer | null = null
  let failures = 0
  let pause: Timer | null = null

  /** What the program that runs was started with, until its turn begins. */
  let outstanding: DoorbellId | null = null

  const status = (): SurfaceStatus => ({
    ...{ surface: 'command', session_id, delivery: 'push', turn, turn_seq },
    ...(outstanding !== null && { outstanding_doorbell_id: outstanding }),
  })

  function move(to: Turn): void {
    if (to === 'busy' && turn !== 'busy') turn_seq += 1
    if (to === 'busy') outstanding = null
    turn = to
    void host?.report(status())
  }

  /** Null when the program could not even be started: then it drained nothing, and its session goes on. */
  function programEnded(how: 'well' | 'badly' | null): void {
    running = null
    outstanding = null
    forgetRun()
    if (how !== 'badly') {
      failures = 0
      move(own_turns ? 'idle' : turn)
      return
    }
    session_id = deps.ids.next()
    if (!own_turns) return void host?.report(status())
    const pause_ms = Math.min(LIMITS.command_pause_min_ms * 2 ** failures, LIMITS.command_pause_max_ms)
    failures = Math.min(failures + 1, 30)
    move('unknown')
    pause = clock.after(pause_ms, () => {
      pause = null
      move('idle')
    })
  }

  function start(doorbell: Doorbell): Program {
    try {
      return deps.start(settings.argv, `${JSON.stringify(doorbell)}\n`, {
        TURNBELL_PERSONA: deps.identity,
        TURNBELL_SESSION_ID: session_id,
      })
    } catch (error) {
      const exit = { code: null, reason: String(error), output: '' }
      return { pid: undefined, started: null, exited: Promise.resolve(exit), kill() {} }
    }
  }

  /** A program that no later shim would know of is ended: the next bell would ring into its turn. */
  function remember(program: Program): void {
    const { pid, started } = program
    if (pid === undefined) return
    const deadline_ms = clock.now() + settings.timeout_ms
    const note = { pid, started, session_id, deadline_ms, doorbell_id: outstanding }
    try {
      deps.run_file.write(JSON.stringify(note))
    } catch (error) {
      log.error({ err: error, pid }, 'the command is ended, because it could not be noted')
      program.kill()
    }
  }

  /** What cannot be removed names a process that is gone, so it does no harm. */
  function forgetRun(): void {
    try {
      deps.run_file.remove()
    } catch (error) {
      log.warn({ err: error }, 'the note of the command could not be removed')
    }
  }

  function begin(doorbell: Doorbell): Promise<ProgramExit> {
    if (own_turns) move('busy')
    else {
      outstanding = doorbell.doorbell_id
      void host?.report(status())
    }
    const program = start(doorbell)
    running = program
    remember(program)
    const cut = clock.after(settings.timeout_ms, () => {
      log.warn({ timeout_ms: settings.timeout_ms }, 'the command ran too long and is ended')
      program.kill()
    })
    return program.exited.then((exit) => {
      cut.cancel()
      if (exit.code !== 0) log.warn(exit, 'the command failed')
      programEnded(program.pid === undefined ? null : exit.code === 0 ? 'well' : 'badly')
      return exit
    })
  }

  /** A shim that was killed left a program running: its turn goes on, and nothing may ring into it. */
  function takeOver(note: z.infer<typeof RunNote>): void {
    session_id = note.session_id
    if (own_turns) turn = 'busy'
    else outstanding = note.doorbell_id
    log.info({ pid: note.pid }, 'a command of an earlier shim still runs')
    orphan = clock.every(ORPHAN_POLL_MS, () => {
      if (deps.alive(note.pid, note.started)) {
        if (clock.now() <= note.deadline_ms) return
        // Otherwise it may be a stranger that has its number now: that one is no longer waited for either.
        if (deps.is(note.pid, note.started)) return deps.killGroup(note.pid)
      }
      orphan?.cancel()
      orphan = null
      // How it ended is nobody's child to know, so it counts as having failed.
      programEnded('badly')
    })
  }

  return {
    status: async () => status(),

    async notify_surface(doorbell): Promise<RingResult> {
      if (turn !== 'idle' || running !== null || orphan !== null)
        return { accepted: false, proof: 'deferred' }
      const exited = begin(doorbell)
      // A turn may last long; the daemon is told that the bell was handed over and sees the rest as turns.
      const patience = new Promise<null>((resolve) =>
        clock.after(LIMITS.command_answer_ms, () => resolve(null)),
      )
      const exit = await Promise.race([exited, patience])
      if (exit === null || exit.code === 0) return { accepted: true, proof: 'sent' }
      return { accepted: false, proof: 'failed' }
    },

    async resume_surface() {
      void host?.report(status())
    },

    open(daemon) {
      host = daemon
      const note = jsonAs(RunNote, deps.run_file.read())
      if (note !== null && deps.alive(note.pid, note.started)) takeOver(note)
      else forgetRun()
      void host.report(status())
    },

    statusFileRead(text) {
      const word = text?.trim()
      // Emptied, to be written anew: what comes next may be the same turn.
      if (word === '') return
      move(word === 'idle' || word === 'busy' ? word : 'unknown')
    },

    close() {
      orphan?.cancel()
      pause?.cancel()
      host = null
    },
  }
}
