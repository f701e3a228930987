/**
 * One Claude Code session as a surface: reports its turns, rings it while it is idle, and returns a
 * doorbell in the response to a Stop hook. The daemon decides whether a doorbell is due.
 */
import { bellRinger } from './bell-ringer.ts'
import type { DeliveryPaths } from './delivery-paths.ts'
import type { EventContext, ModLink } from './mod-link/mod-link.ts'
import type { Hello, NumberedEvent } from './mod/messages.ts'
import { hookNoted } from './mod-turns.ts'
import { createModEvents } from './mod-events.ts'
import { postedBell } from './posted-bell.ts'
import type { RegistryRecord, TurnEvent } from './turn-events.ts'
import { settleTurns, turnReporter } from './turn-reporter.ts'
import {
  bellContinued,
  hookFired,
  registryRead,
  stopAnswered,
  stopPending,
  wasInterrupted,
  type TrackedTurn,
} from './turn-tracker.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { InstanceId } from '../../src/contracts/ids.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

export interface ClaudeSurfaceDeps {
  session_id: string | null
  /** The client's process; it runs the turns. */
  instance_id?: InstanceId | null
  paths: DeliveryPaths
  /** The module in the client. */
  mod: Pick<ModLink, 'attached' | 'absence' | 'ring' | 'underWay'>
  clock: Clock
  log: Log
  /** Log for warnings that concern the operator of the daemon. */
  degraded: Log
  /** This worker replaced a killed one, so it may have missed hooks. */
  respawned: boolean
  /**
   * Called before the end of an interrupted turn is reported, to release drains that the agent was not shown.
   * The report waits until it resolves, without a time limit.
   */
  onInterrupted: () => Promise<void>
  /** Resolves when the hub has received all releases so far, because the end of a turn confirms the other drains. */
  drainsReleased: () => Promise<void>
  /** Called when the registry shows that a turn was interrupted, which no hook reports. */
  turnInterrupted?: () => void
  /** Whether the client is suspended, as by Ctrl-Z. Texts that are posted then all arrive when it continues. */
  isStopped: () => boolean
}

export interface ClaudeSurface extends Surface {
  open(host: SurfaceHost): void
  /** Handles any hook of the main agent except Stop. */
  hookFired(event: TurnEvent): Promise<void>
  /**
   * Handles a Stop hook of the main agent. Resolves with the doorbell that the response must carry, or null. An
   * aborted hook gets no doorbell, because its response is not read; the daemon rings again if no receipt comes.
   */
  stopped(event: TurnEvent, aborted: () => boolean): Promise<Doorbell | null>
  /** Records that the response carrying the doorbell was written. */
  continuedWith(doorbell: Doorbell): void
  registryRead(record: RegistryRecord | null): void
  /** From now on the module reports the turns. */
  modAttached(hello: Hello): void
  /** Handles an event of the module. Events are handled one after the other. */
  modEvent(event: NumberedEvent, of: EventContext): void
  /** Events of the module are missing. */
  modDropped(): void
  /** From now on the hooks report the turns. */
  modLost(): void
  /** Resolves when the turn of this tool call is tracked, also if the module reports it late. */
  callReported(tool_use_id: string): Promise<void>
  session(): string | null
  close(): void
}

export function claudeSurface(deps: ClaudeSurfaceDeps): ClaudeSurface {
  const { session_id, paths, mod, clock, log, isStopped, onInterrupted, drainsReleased } = deps
  const now = () => clock.monotonic()
  const posted_bell = postedBell({ paths, mod, now, isStopped })
  const instance_id = deps.instance_id ?? null
  const turn = turnReporter({ session_id, instance_id, posted_bell, mod, clock, log })
  const settling = settleTurns(turn, { clock, onInterrupted })
  const ringer = bellRinger({ turn, posted_bell, paths, mod, clock, isStopped })
  const mod_events = createModEvents({ turn, posted_bell, clock, onInterrupted, drainsReleased, log })
  const hooks = missingHooks(deps)
  turn.onMove(interruptWatch(deps))

  return {
    status: async () => turn.status(),
    notify_surface: (doorbell) => ringer.ring(doorbell),

    async resume_surface() {
      turn.report()
    },

    open(daemon) {
      turn.host = daemon
    },

    async hookFired(event) {
      hooks.arrived()
      if (turn.state().by_mod) return turn.move(hookNoted(turn.state(), event))
      if (event.event === 'UserPromptSubmit' && wasInterrupted(turn.state())) await onInterrupted()
      turn.move(hookFired(turn.state(), event, now()))
    },

    async stopped(event, aborted) {
      hooks.arrived()
      if (turn.state().by_mod) {
        turn.move(hookNoted(turn.state(), event))
        return null
      }
      turn.moveSilently(hookFired(turn.state(), event, now()))
      const { host } = turn
      if (host === null) return null
      if (aborted()) {
        turn.report()
        return null
      }
      turn.move(stopPending(turn.state()))
      const { doorbell } = await host.report({ ...turn.status(), take: true })
      turn.move(stopAnswered(turn.state(), now()))
      if (doorbell !== null && aborted()) {
        log.warn({ doorbell_id: doorbell.doorbell_id }, 'Stop hook aborted by the client; doorbell withheld')
        return null
      }
      return doorbell
    },

    continuedWith(doorbell) {
      turn.move(bellContinued(turn.state(), doorbell.doorbell_id, now()))
    },

    registryRead(record) {
      hooks.registryRead(turn.state().registry, record?.status ?? null)
      turn.move(registryRead(turn.state(), record, now()))
    },

    modAttached: (hello) => mod_events.attached(hello),
    modEvent: (event, of) => mod_events.happened(event, of),
    modDropped: () => mod_events.dropped(),
    modLost: () => mod_events.lost(),
    callReported: (tool_use_id) => mod_events.callReported(tool_use_id),

    session: () => turn.state().session_id,

    close() {
      settling.close()
      ringer.close()
      turn.host = null
    },
  }
}

function interruptWatch({ turnInterrupted }: ClaudeSurfaceDeps) {
  return (next: TrackedTurn, before: TrackedTurn): void => {
    const is_over = before.turn === 'busy' && next.turn === 'idle'
    if (is_over && next.interrupted && !next.by_mod) turnInterrupted?.()
  }
}

/** Logs once if the registry showed a whole turn without any hook: the client cannot call this worker. */
function missingHooks({ respawned, degraded }: ClaudeSurfaceDeps) {
  /** A hook has arrived, or the absence of hooks was logged. */
  let settled = respawned
  return {
    arrived: () => void (settled = true),
    registryRead(before: RegistryRecord['status'], after: RegistryRecord['status']): void {
      if (settled || before !== 'busy' || (after !== 'idle' && after !== 'shell')) return
      settled = true
      degraded.warn({}, 'no hooks received from the client; turns are read from its session registry')
    },
  }
}
