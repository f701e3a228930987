/**
 * Events that wait for the worker, in order. A full queue drops the oldest event that was not sent yet, but no outcome of a
 * doorbell: the worker would hand the doorbell over again.
 */
import { CLAUDE_MODULE_LIMITS as LIMITS } from '../../../src/contracts/limits/claude-module.ts'
import type { Batch, ModEvent, NumberedEvent } from './messages.ts'

export interface EventQueue {
  push: (event: ModEvent) => void
  waiting: () => number
  /** Doorbells whose outcome the worker has not acknowledged. */
  bells: () => string[]
  /** Returns the next events. The same batch is returned until `sent` or `rejected`, because a response may be lost. */
  batch: (epoch: string) => Batch
  sent: () => void
  /** The worker never accepts this batch; its events count as lost. */
  rejected: () => void
  /** A new epoch begins: the next event has number 1. */
  renumber: () => void
  /** Drops all events, and every later one until `open`. */
  close: () => void
  open: () => void
}

type TimedEvent = ModEvent & { at: number }

export function createEventQueue(now: () => number): EventQueue {
  let closed = false
  const waiting: TimedEvent[] = []
  /** The batch that was taken and neither sent nor rejected. */
  let taken: { events: TimedEvent[]; lost: number } | null = null
  let seq = 0
  let lost = 0
  const size = () => waiting.length + (taken?.events.length ?? 0)

  return {
    push(event) {
      if (closed) return
      waiting.push({ at: now(), ...event })
      if (size() <= LIMITS.mod_events_waiting_max) return
      waiting.splice(
        waiting.findIndex(({ kind }) => kind !== 'bell'),
        1,
      )
      lost++
    },
    waiting: size,
    bells: () =>
      [...(taken?.events ?? []), ...waiting].flatMap((event) =>
        event.kind === 'bell' ? [event.doorbell_id] : [],
      ),
    batch(epoch) {
      if (taken === null) {
        taken = { events: waiting.splice(0, LIMITS.mod_batch_events_max), lost }
        lost = 0
      }
      const events = taken.events.map((event, index): NumberedEvent => ({ seq: seq + index + 1, ...event }))
      return { epoch, lost: taken.lost, events }
    },
    sent() {
      seq += taken?.events.length ?? 0
      taken = null
    },
    rejected() {
      if (taken !== null) lost += taken.lost + taken.events.length
      taken = null
    },
    renumber: () => void (seq = 0),
    close() {
      closed = true
      taken = null
      waiting.length = 0
      lost = 0
    },
    open: () => void (closed = false),
  }
}
