/**
 * Keeps one agent running for a persona: starts it, opens its session, and restarts it when it exits. The previous
 * session is resumed if the agent supports it; after repeated failures to resume, a new session is opened.
 *
 * A new run is rung at once if signals wait. So an agent whose turns all fail is restarted with backoff until one of
 * its turns has ended.
 */
import { AgentUnusableError, connectAgent, type AgentOptions } from './agent.ts'
import type { AcpSurface } from './acp-surface.ts'
import { AgentGoneError, type AgentPipe } from './wire.ts'
import { SESSION_NOT_OPENED, SESSION_OPENED } from '../../src/contracts/clients/agent-log.ts'
import type { SessionId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'

/** A running agent, in a process group of its own. */
export interface AgentProcess extends AgentPipe {
  /** Resolves with the reason of the exit, also if the agent could not be started. */
  exited: Promise<string>
  /** Closes its input, which requests the agent to exit. */
  closeInput(): void
  /** Kills it and every process it started. */
  kill(): void
}

export interface SessionStore {
  read(): string | null
  write(session_id: string): void
}

export interface KeeperDeps extends Pick<AgentOptions, 'cwd' | 'version' | 'log'> {
  surface: AcpSurface
  clock: Clock
  start: () => AgentProcess
  /** Returns turnbell's MCP server for this run of the agent. */
  mcpServer: (run: SessionId) => AgentOptions['mcp_server']
  /** Stores the agent's session id across runs. */
  session_store: SessionStore
}

export interface AgentKeeper {
  start(): void
  /** Starts the agent now if a restart is scheduled. */
  startNow(): void
  /** Resets the backoff, because a turn has ended. */
  turnEnded(): void
  /** Restarts the agent after a delay, because a turn has failed. */
  restart(): void
  /** Stops the agent; resolves when it has exited. */
  stop(): Promise<void>
}

export function keepAgent(deps: KeeperDeps): AgentKeeper {
  const { surface, clock } = deps
  const sessions = storedSession(deps)
  const restarts = restartTimer(deps, launch)
  let running: AgentProcess | null = null
  let stopping = false

  async function run(): Promise<void> {
    const started_at = clock.monotonic()
    const process = deps.start()
    running = process
    const opening = openSession(process, deps, { sessions, restarts, isRunning: () => running === process })
    const reason = await process.exited
    // Kills processes that the agent may have left running.
    process.kill()
    running = null
    surface.gone()
    if (stopping) return
    if (opening.is_resuming) sessions.resumeFailed()
    if (clock.monotonic() - started_at >= LIMITS.shim_stable_ms) restarts.reset()
    restarts.schedule(reason)
  }

  function launch(): void {
    if (!stopping) void run()
  }

  return {
    start: launch,
    startNow() {
      if (!stopping && restarts.cancel()) launch()
    },
    turnEnded: () => restarts.reset(),
    restart: () => running?.kill(),
    async stop() {
      stopping = true
      restarts.cancel()
      const process = running
      if (process === null) return
      process.closeInput()
      const grace = clock.after(LIMITS.acp_stop_grace_ms, () => process.kill())
      await process.exited
      grace.cancel()
    },
  }
}

/** The opening of the session in one run of the agent. */
interface Opening {
  /** The stored session is being resumed. */
  is_resuming: boolean
}

interface OpeningDeps {
  sessions: StoredSession
  restarts: RestartTimer
  /** Whether the agent of this run has not exited. */
  isRunning: () => boolean
}

function openSession(
  process: AgentProcess,
  { surface, clock, log, cwd, version, mcpServer }: KeeperDeps,
  { sessions, restarts, isRunning }: OpeningDeps,
): Opening {
  const opening = { is_resuming: false }
  const mcp_server = mcpServer(surface.session_id())

  function onFailed(error: unknown): void {
    // The stored session is still usable after a login.
    if (error instanceof AgentUnusableError) opening.is_resuming = false
    // Skipped if the agent has exited, because its exit reason is logged instead.
    if (!isRunning() || error instanceof AgentGoneError) return
    // The next attempt would fail too, so it waits for the longest delay.
    if (error instanceof AgentUnusableError) restarts.slowDown()
    const message = error instanceof Error ? error.message : String(error)
    log.error({ err: error }, `${SESSION_NOT_OPENED}: ${message}`)
    process.kill()
  }

  connectAgent(
    { pipe: process, cwd, version, clock, log, mcp_server, previous_session: sessions.previous() },
    {
      onUpdate: (update) => surface.updated(update),
      onPermission: (request) => surface.permission(request),
      onReopening: () => void (opening.is_resuming = true),
    },
  ).then((agent) => {
    if (!isRunning()) return
    opening.is_resuming = false
    sessions.opened(agent.session_id)
    log.info({ session: agent.session_id, run: surface.session_id() }, SESSION_OPENED)
    surface.ready(agent)
  }, onFailed)
  return opening
}

type StoredSession = ReturnType<typeof storedSession>

/** The session to resume, and the consecutive runs that exited before they had opened it. */
function storedSession({ session_store, log }: KeeperDeps) {
  let failed_resumes = 0
  return {
    previous(): string | null {
      const session = session_store.read()
      if (session === null || failed_resumes < LIMITS.acp_unopened_max) return session
      log.warn({ session, failed_resumes }, 'previous session abandoned after failed resumes')
      return null
    },
    opened(session: string): void {
      failed_resumes = 0
      try {
        session_store.write(session)
      } catch (error) {
        log.warn({ err: error, session }, 'session id could not be stored; a later run cannot resume it')
      }
    },
    resumeFailed: () => void (failed_resumes += 1),
  }
}

type RestartTimer = ReturnType<typeof restartTimer>

/** Restarts the agent with backoff. */
function restartTimer({ clock, log }: KeeperDeps, launch: () => void) {
  let timer: Timer | null = null
  let failures = 0
  return {
    schedule(reason: string): void {
      const delay_ms = Math.min(LIMITS.shim_restart_max_ms, LIMITS.shim_restart_min_ms * 2 ** failures)
      failures = Math.min(failures + 1, FAILURES_MAX)
      log.warn({ reason, delay_ms }, `agent exited (${reason}); restarting`)
      timer = clock.after(delay_ms, () => {
        timer = null
        launch()
      })
    },
    reset: () => void (failures = 0),
    /** The next restart waits for the longest delay. */
    slowDown: () => void (failures = FAILURES_MAX),
    /** Returns whether a restart was scheduled. */
    cancel(): boolean {
      const is_scheduled = timer !== null
      timer?.cancel()
      timer = null
      return is_scheduled
    },
  }
}

/** Upper limit of the failure count; the delay reaches its maximum earlier. */
const FAILURES_MAX = 30
