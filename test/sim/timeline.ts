/**
 * Simulated time: one queue of scheduled events. Events at the same moment run in the order in which they were
 * scheduled. Between two events all pending promises are settled.
 */
import type { Timer } from '../../src/ports/clock.ts'

interface Moment {
  due: number
  order: number
  call: (() => void) | null
}

export class Timeline {
  /** Milliseconds since the simulation began. */
  now = 0
  /** Number of events that have run. */
  happened = 0
  private readonly heap: Moment[] = []
  private order = 0

  at(delay_ms: number, call: () => void): Timer {
    const moment: Moment = { due: this.now + Math.max(0, delay_ms), order: this.order++, call }
    this.push(moment)
    return { cancel: () => void (moment.call = null) }
  }

  /** Advances the clock by `ms`. `between` is called after every event on the way. */
  async pass(ms: number, between: () => void): Promise<void> {
    const until = this.now + ms
    // A `nextTick` requested outside of a promise would run before pending promises. A simulation on a worker thread would
    // then differ from the one that the command runs.
    await Promise.resolve()
    await rest()
    between()
    for (let moment = this.heap[0]; moment !== undefined && moment.due <= until; moment = this.heap[0]) {
      this.pop()
      if (moment.call === null) continue
      this.now = Math.max(this.now, moment.due)
      this.happened += 1
      moment.call()
      await rest()
      between()
    }
    this.now = until
  }

  private push(moment: Moment): void {
    const { heap } = this
    let at = heap.push(moment) - 1
    for (
      let above = (at - 1) >> 1;
      at > 0 && isBefore(moment, heap[above] as Moment);
      above = (at - 1) >> 1
    ) {
      heap[at] = heap[above] as Moment
      at = above
    }
    heap[at] = moment
  }

  private pop(): void {
    const { heap } = this
    const last = heap.pop() as Moment
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Moment, heap[below] as Moment)) below += 1
      if (!isBefore(heap[below] as Moment, last)) break
      heap[at] = heap[below] as Moment
      at = below
    }
    heap[at] = last
  }
}

function isBefore(one: Moment, other: Moment): boolean {
  return one.due < other.due || (one.due === other.due && one.order < other.order)
}

/**
 * No part of a simulation waits for the real event loop. A `nextTick` requested while promises are being settled runs when
 * none is left, and costs a tenth of a tick of the loop.
 */
function rest(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}
