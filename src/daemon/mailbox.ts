/** Feeds the machine one event at a time, and keeps one timer for its nearest deadline. */
import { LIMITS } from '../contracts/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Random } from '../ports/random.ts'
import type { Input } from './context.ts'
import type { DaemonEvent, Effect } from './events.ts'
import { nextDeadline, start, stateOf, step, type DaemonSnapshot } from './machine.ts'

/** An event without its moment, which the mailbox adds. */
export type News = DaemonEvent extends infer E ? (E extends unknown ? Omit<E, 'now'> : never) : never

export interface Mailbox {
  /** Events that arise while one is handled wait for their turn: the machine is never entered twice. */
  post: (news: News) => void
  snapshot: () => DaemonSnapshot
  /** Nothing is handled any more. */
  close(): void
}

export function createMailbox(options: {
  input: Omit<Input, 'now'>
  clock: Clock
  random: Random
  log: Log
  /** After each step, before its effects. */
  onStep?(snapshot: DaemonSnapshot): void
  perform(effect: Effect): void
  /** A step or an effect threw; the mailbox is closed. */
  onBug(error: unknown): void
}): Mailbox {
  const { clock, random, log } = options
  const events: DaemonEvent[] = []
  let snapshot = start({ ...options.input, now: clock.monotonic() })
  let busy = false
  let closed = false
  let timer: Timer | null = null

  function post(news: News): void {
    if (closed) return
    events.push({ ...news, now: clock.monotonic() })
    if (busy) return
    busy = true
    try {
      for (let event = events.shift(); event !== undefined && !closed; event = events.shift()) handle(event)
      arm()
    } catch (error) {
      // Told apart from the call that brought the news: a socket's handler would take the error for its
      // own, answer `internal`, and the daemon would live on half-way through a step.
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
    options.onStep?.(snapshot)
    for (const effect of effects) options.perform(effect)
  }

  function arm(): void {
    timer?.cancel()
    timer = null
    const at = nextDeadline(snapshot)
    if (at === null || closed) return
    // Timers may fire a fraction early; rounding up keeps that from becoming a spin. What is further off
    // than a timer reaches is looked at again half-way.
    const delay_ms = Math.max(0, Math.ceil(at - clock.monotonic()))
    timer = clock.after(Math.min(delay_ms, LIMITS.timer_max_ms), () =>
      post({ type: 'TIME_PASSED', random: random.next() }),
    )
  }

  function close(): void {
    closed = true
    timer?.cancel()
  }

  return { post, snapshot: () => snapshot, close }
}
