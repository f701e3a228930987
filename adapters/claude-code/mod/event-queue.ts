/**
 * Events that wait for the worker, in order. A full queue drops the oldest event that was not sent yet, but no outcome of a
 * doorbell: the worker would hand the doorbell over again. If too many bytes wait, later events lose their content, because
 * the worker needs the events to track the turn.
 */
import { CLAUDE_MODULE_LIMITS as LIMITS } from '../../../src/contracts/limits/claude-module.ts'
import type { Batch, ModEvent, NumberedEvent } from './messages.ts'
import { utf8Length } from './sha256.ts'

export interface EventQueue {
  push: (event: ModEvent) => void
  /** Whether events need content: true until the worker has answered. */
  takesContent: () => boolean
  /** The worker's answer. */
  setContent: (wanted: boolean) => void
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

interface Waiting {
  event: ModEvent & { at: number }
  /** Size as JSON. */
  bytes: number
}

export function createEventQueue(now: () => number): EventQueue {
  let closed = false
  let with_content = true
  const waiting: Waiting[] = []
  /** The batch that was taken and neither sent nor rejected. */
  let taken: { events: Waiting[]; lost: number } | null = null
  let seq = 0
  let lost = 0
  const size = () => waiting.length + (taken?.events.length ?? 0)
  const bytes = () => waiting.reduce((sum, one) => sum + one.bytes, 0)

  return {
    push(event) {
      if (closed) return
      const whole = sized({ at: now(), ...event })
      const fits = bytes() + whole.bytes <= LIMITS.mod_waiting_bytes_max
      waiting.push(fits ? whole : sized(withoutContent(whole.event)))
      if (size() <= LIMITS.mod_events_waiting_max) return
      waiting.splice(
        waiting.findIndex(({ event }) => event.kind !== 'bell'),
        1,
      )
      lost++
    },
    takesContent: () => with_content && !closed,
    setContent: (wanted) => void (with_content = wanted),
    waiting: size,
    bells: () =>
      [...(taken?.events ?? []), ...waiting].flatMap(({ event }) =>
        event.kind === 'bell' ? [event.doorbell_id] : [],
      ),
    batch(epoch) {
      if (taken === null) {
        taken = { events: waiting.splice(0, batchLength(waiting)), lost }
        lost = 0
      }
      const events = taken.events.map(({ event }, index): NumberedEvent => {
        const sent = with_content ? event : withoutContent(event)
        return { seq: seq + index + 1, ...sent }
      })
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

function batchLength(waiting: readonly Waiting[]): number {
  let bytes = 0
  const end = waiting.findIndex((one, index) => {
    bytes += one.bytes
    return index >= LIMITS.mod_batch_events_max || (index > 0 && bytes > LIMITS.mod_batch_bytes_max)
  })
  return end === -1 ? waiting.length : end
}

function sized(event: Waiting['event']): Waiting {
  return { event, bytes: utf8Length(JSON.stringify(event)) }
}

function withoutContent<Event extends Waiting['event']>(event: Event): Event {
  if (!('content' in event)) return event
  const { content: _, ...facts } = event
  return facts as Event
}
