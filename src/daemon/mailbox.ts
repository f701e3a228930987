/** Passes events to the machine one at a time, and keeps one timer for its nearest deadline. */
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Random } from '../ports/random.ts'
import type { MachineInput } from './context.ts'
import type { DaemonEvent, Effect } from './events.ts'
import { nextDeadline, start, stateOf, step, type DaemonSnapshot } from './machine.ts'

/** An event without its time; the mailbox adds it. */
export type UntimedEvent = DaemonEvent extends infer E ? (E extends unknown ? Omit<E, 'now'> : never) : never

export interface Mailbox {
  /**
   * Handles the event. Events posted while another is handled are queued, so the machine is never re-entered.
   */
  post: (news: UntimedEvent) => void
  snapshot: () => DaemonSnapshot
  /** Sets the handlers of steps and effects. Must be called before the first event is posted. */
  attach(handlers: StepHandlers): void
  /** Stops handling events. */
  close(): void
}

export interface StepHandlers {
  /** Called after each step, before its effects. */
  onStep?(snapshot: DaemonSnapshot): void
  perform(effect: Effect): void
}

export function createMailbox(options: {
  input: Omit<MachineInput, 'now'>
  clock: Clock
  random: Random
  log: Log
  /** Called when a step or an effect threw; the mailbox is closed. */
  onBug(error: unknown): void
}): Mailbox {
  const { clock, random, log } = options
  const events: DaemonEvent[] = []
  let snapshot = start({ ...options.input, now: clock.monotonic() })
  let handlers: StepHandlers | null = null
  let busy = false
  let closed = false
  let timer: Timer | null = null

  function post(news: UntimedEvent): void {
    if (closed) return
    events.push({ ...news, now: clock.monotonic() })
    if (busy) return
    busy = true
    try {
      for (let event = events.shift(); event !== undefined && !closed; event = events.shift()) handle(event)
      arm()
    } catch (error) {
      // Reported apart from the call that posted the event. Otherwise a socket handler would treat the error
      // as its own and respond `internal`, and the daemon would continue in the middle of a step.
      close()
      options.onBug(error)
    } finally {
      busy = false
    }
  }

  function handle(event: DaemonEvent): void {
    const before = stateOf(snapshot)
    const [next, effects] = step(snapshot, event)
    snapshot = next
    const after = stateOf(snapshot)
    if (before !== after) log.debug({ event: event.type, from: before, to: after }, 'state changed')
    handlers?.onStep?.(snapshot)
    for (const effect of effects) handlers?.perform(effect)
  }

  function arm(): void {
    timer?.cancel()
    timer = null
    const at = nextDeadline(snapshot)
    if (at === null || closed) return
    // Rounded up, because timers may fire a fraction early and would then spin. A deadline beyond the longest
    // timer is checked again when that timer fires.
    const delay_ms = Math.max(0, Math.ceil(at - clock.monotonic()))
    timer = clock.after(Math.min(delay_ms, LIMITS.timer_max_ms), () =>
      post({ type: 'TIME_PASSED', random: random.next() }),
    )
  }

  function close(): void {
    closed = true
    timer?.cancel()
  }

  return { post, snapshot: () => snapshot, attach: (given) => void (handlers = given), close }
}
