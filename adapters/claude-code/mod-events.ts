/**
 * Applies what the module in the client reports to the tracked turn, in order: the end of a turn that was or may have been
 * interrupted waits until the drains that the agent was not shown are released.
 */
import type { EventContext } from './mod-link/mod-link.ts'
import type { Hello, ModEvent, NumberedEvent } from './mod/messages.ts'
import {
  hookTurnBegun,
  hookTurnEnded,
  isModTurn,
  modAttached,
  modBellEntered,
  modEventsMissing,
  modLost,
  modPrompted,
  modStopped,
  modTurnEnded,
  modTurnStarted,
} from './mod-turns.ts'
import { eventsDropped, presenceAfter, presenceOf, startPresence, type TrackedPresence } from './presence.ts'
import type { PostedBell } from './posted-bell.ts'
import { createReportedCalls } from './reported-calls.ts'
import type { TurnReporter } from './turn-reporter.ts'
import { bellRejected, type TrackedTurn } from './turn-tracker.ts'
import { DoorbellId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface ModEvents {
  /** From now on the module reports the turns. */
  attached(hello: Hello): void
  /** A past event does not change what the greeting contains, which is the present. */
  happened(event: NumberedEvent, of: EventContext): void
  /** Events of the module are missing. */
  dropped(): void
  /** From now on the hooks report the turns. */
  lost(): void
  /**
   * Resolves when the turn of this tool call is applied: its module has reported the call, is silent about it, or no
   * module is attached.
   */
  callReported(tool_use_id: string): Promise<void>
}

export interface ModEventsDeps {
  turn: TurnReporter
  posted_bell: Pick<PostedBell, 'isByPath'>
  clock: Pick<Clock, 'monotonic' | 'after'>
  onInterrupted: () => Promise<void>
  drainsReleased: () => Promise<void>
  log: Log
}

/** Events of the main agent that `apply` uses, besides `tool_started`. They are few. */
const TURN_KINDS: readonly ModEvent['kind'][] = [
  'session',
  'prompt',
  'stopped',
  'turn_started',
  'turn_ended',
  'bell',
]
const changesTurn = (event: ModEvent) =>
  TURN_KINDS.includes(event.kind) && !('agent' in event && event.agent !== undefined)

type BellEvent = Extract<ModEvent, { kind: 'bell' }>

/** Origins of prompts that do not come from the person or the program that has the session. */
const FOREIGN_ORIGINS = ['peer', 'plugin', 'task-notification']

export function createModEvents(deps: ModEventsDeps): ModEvents {
  const { turn, clock, log } = deps
  const calls = createReportedCalls(clock)
  const turns = turnChanges(deps)
  const presence = reportedPresence(turn, log)
  let last = Promise.resolve()
  const queue = (step: () => Promise<void> | void) => {
    last = last.then(step).catch((error: unknown) => log.error({ err: error }, 'event of the module failed'))
  }
  /** Number of tool calls that wait for the events before them. */
  let calls_waiting = 0
  const queueCall = (call: string) => {
    // Without its report, `callReported` resolves after a timeout.
    if (calls_waiting >= LIMITS.mod_calls_waiting_max) return
    calls_waiting++
    queue(() => {
      calls_waiting--
      calls.add(call)
    })
  }
  return {
    attached(hello) {
      presence.started(hello)
      queue(() => turns.attach(hello))
    },
    happened(event, of) {
      // At once, because the end of a turn may wait for the hub.
      presence.happened(event, of)
      if (event.kind === 'tool_started') queueCall(event.call)
      else if (changesTurn(event)) queue(() => turns.apply(event, of.past))
    },
    dropped() {
      presence.dropped()
      queue(() => turns.drop())
    },
    lost() {
      presence.ended()
      queue(() => turns.lose())
    },
    async callReported(tool_use_id) {
      if (turn.state().by_mod) await calls.wait(tool_use_id)
    },
  }
}

/** The changes of the tracked turn. Each is called when the one before has resolved. */
function turnChanges({ turn, posted_bell, clock, onInterrupted, drainsReleased }: ModEventsDeps) {
  /** Reports what only hooks showed of a turn, because the hub waits for the end of the turn of each drain. */
  function countHookTurn(): void {
    turn.move(hookTurnBegun(turn.state(), clock.monotonic()))
    turn.move(hookTurnEnded(turn.state(), clock.monotonic()))
  }

  async function beforeHookTurn(): Promise<void> {
    if (turn.state().hook_end !== null) await drainsReleased()
  }

  return {
    async attach(hello: Hello): Promise<void> {
      const { turn: present, hook_begin } = turn.state()
      // Hooks report the end of every turn that was not interrupted.
      if (hello.busy === false && (present === 'busy' || hook_begin !== null)) await onInterrupted()
      countHookTurn()
      turn.move(modAttached(turn.state(), hello, clock.monotonic()))
    },
    async apply(event: ModEvent, past: boolean): Promise<void> {
      if (!turn.state().by_mod || (past && event.kind !== 'bell')) return
      switch (event.kind) {
        case 'session':
          return turn.move({ ...turn.state(), session_id: event.session_id, interrupted: false })
        case 'prompt':
          if (!FOREIGN_ORIGINS.includes(event.origin)) turn.move(modPrompted(turn.state()))
          return
        case 'stopped':
          return turn.move(modStopped(turn.state()))
        case 'turn_started':
          if (turn.state().turn === 'busy') await onInterrupted()
          return turn.move(modTurnStarted(turn.state(), event.turn, clock.monotonic()))
        case 'turn_ended':
          if (!isModTurn(turn.state(), event.turn)) return
          await (event.reason === 'aborted' ? onInterrupted() : drainsReleased())
          return turn.move(modTurnEnded(turn.state(), event.reason, clock.monotonic()))
        case 'bell':
          // A doorbell that the client dropped may be in its inbox by now.
          if (event.dropped !== undefined && posted_bell.isByPath(event.doorbell_id)) return
          return turn.move(afterBell(turn.state(), event))
        default:
      }
    },
    async drop(): Promise<void> {
      await beforeHookTurn()
      countHookTurn()
      turn.move(modEventsMissing(turn.state()))
    },
    async lose(): Promise<void> {
      await beforeHookTurn()
      turn.move(modLost(turn.state(), clock.monotonic()))
      countHookTurn()
    },
  }
}

/** Applies the outcome of a doorbell. */
function afterBell(state: TrackedTurn, { doorbell_id, dropped }: BellEvent): TrackedTurn {
  const { success, data: id } = DoorbellId.safeParse(doorbell_id)
  if (!success) return state
  if (dropped === undefined) return modBellEntered(state, id)
  const rejected = bellRejected(state, id)
  // The client counts a prompt as input only if it was sent after the interrupt, not one that waited before it.
  return dropped === 'stopped' && !rejected.ended_by_itself ? modStopped(rejected) : rejected
}

/** Reports what the events show besides the turn, while a module is attached. */
function reportedPresence(turn: Pick<TurnReporter, 'show'>, log: Log) {
  let state: TrackedPresence | null = null
  const move = (next: TrackedPresence | null) => {
    state = next
    turn.show(next && presenceOf(next))
  }
  return {
    started: (hello: Hello) => move(startPresence(hello)),
    happened(event: NumberedEvent, of: EventContext): void {
      if (event.kind === 'restored' && !event.found)
        log.warn({ session_id: of.session_id }, 'the agent was not shown the primer after a compaction')
      if (state !== null) move(presenceAfter(state, event, of))
    },
    dropped: () => move(state && eventsDropped(state)),
    ended: () => move(null),
  }
}
