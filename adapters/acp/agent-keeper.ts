/**
 * Keeps one agent running for a persona: starts it, opens its session, starts it again when it ends. It goes on
 * with the session of the run before where the agent can; an agent that keeps dying of that session gets a new one.
 *
 * A new run is owed a bell at once, so an agent that breaks off every turn, or dies of it, is started ever more
 * rarely, until a turn of it has ended.
 */
import { AgentUnfitError, connectAgent, type AgentOptions } from './agent.ts'
import type { AcpSurface } from './acp-surface.ts'
import { AgentGoneError, type AgentPipe } from './wire.ts'
import type { SessionId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'

/** A running agent, in a process group of its own. */
export interface AgentProcess extends AgentPipe {
  /** Once, with the reason; also when it could not be started at all. */
  exited: Promise<string>
  /** Closes its input, which is how an agent is told to end. */
  ask(): void
  /** Kills it and everything it started. */
  kill(): void
}

export interface KeptSession {
  read(): string | null
  write(session_id: string): void
}

export interface KeeperDeps extends Pick<AgentOptions, 'cwd' | 'version' | 'log'> {
  surface: AcpSurface
  clock: Clock
  start: () => AgentProcess
  /** turnbell's own server, which acts for this run of the agent. */
  mcpServer: (run: SessionId) => AgentOptions['mcp_server']
  /** The agent's own name for its session, kept across runs. */
  kept: KeptSession
}

export interface AgentKeeper {
  start(): void
  /** Does not wait for the rest of a pause. */
  hurry(): void
  /** A turn ended: what ends the agent from now on is a new trouble. */
  works(): void
  /** A turn broke off: the agent is started anew, after a pause. */
  restart(): void
  /** Ends the agent; resolves when it is gone. */
  stop(): Promise<void>
}

export function keepAgent(deps: KeeperDeps): AgentKeeper {
  const { surface, clock, log } = deps
  let running: AgentProcess | null = null
  let pause: Timer | null = null
  let failures = 0
  /** Runs in a row that were asked for the session that is kept, and ended before they had opened it. */
  let unopened = 0
  let stopping = false

  async function run(): Promise<void> {
    const started_at = clock.monotonic()
    const process = deps.start()
    running = process
    const { cwd, version } = deps
    const mcp_server = deps.mcpServer(surface.session_id())
    let reopening = false
    connectAgent(
      { pipe: process, cwd, version, clock, log, mcp_server, earlier: earlierSession() },
      {
        onUpdate: (update) => surface.updated(update),
        onPermission: (request) => surface.permission(request),
        onReopening: () => void (reopening = true),
      },
    ).then(
      (agent) => {
        if (running !== process) return
        reopening = false
        unopened = 0
        keep(agent.session_id)
        log.info({ session: agent.session_id, run: surface.session_id() }, 'the agent has opened its session')
        surface.ready(agent)
      },
      (error: unknown) => {
        // Its session is as good as before, once somebody has logged in.
        if (error instanceof AgentUnfitError) reopening = false
        refused(process, error)
      },
    )
    const reason = await process.exited
    // It may have left something running that belongs to it.
    process.kill()
    running = null
    surface.gone()
    if (stopping) return
    if (reopening) unopened += 1
    if (clock.monotonic() - started_at >= LIMITS.shim_stable_ms) failures = 0
    again(reason)
  }

  function earlierSession(): string | null {
    const session = deps.kept.read()
    if (session === null || unopened < LIMITS.acp_unopened_max) return session
    log.warn({ session }, `the earlier session was not opened ${unopened} times in a row; a new one begins`)
    return null
  }

  function keep(session: string): void {
    try {
      deps.kept.write(session)
    } catch (error) {
      log.warn({ err: error, session }, 'the session could not be noted, so a later run will not find it')
    }
  }

  function refused(process: AgentProcess, error: unknown): void {
    // How it ended is the better reason, and is about to be told.
    if (running !== process || error instanceof AgentGoneError) return
    // Nothing that the next attempt could mend.
    if (error instanceof AgentUnfitError) failures = FAILURES_MAX
    const why = error instanceof Error ? error.message : String(error)
    log.error({ err: error }, `the agent opens no session: ${why}`)
    process.kill()
  }

  function again(reason: string): void {
    const delay_ms = Math.min(LIMITS.shim_restart_max_ms, LIMITS.shim_restart_min_ms * 2 ** failures)
    failures = Math.min(failures + 1, FAILURES_MAX)
    log.warn({ reason, delay_ms }, `the agent has ended (${reason}) and is started again`)
    pause = clock.after(delay_ms, relaunch)
  }

  function relaunch(): void {
    pause = null
    if (!stopping) void run()
  }

  return {
    start: relaunch,
    hurry() {
      if (pause === null || stopping) return
      pause.cancel()
      relaunch()
    },
    works: () => void (failures = 0),
    restart: () => running?.kill(),
    async stop() {
      stopping = true
      pause?.cancel()
      const process = running
      if (process === null) return
      process.ask()
      const grace = clock.after(LIMITS.acp_stop_grace_ms, () => process.kill())
      await process.exited
      grace.cancel()
    },
  }
}

/** The pause is at its longest by then. */
const FAILURES_MAX = 30
