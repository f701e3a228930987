/**
 * Fair queueing: decides which calls run now. Each caller has its own queues, so a caller with many or expensive calls
 * delays its own calls and not those of others.
 *
 * A call runs at once while its caller has few calls running and has kept the loop busy for less than `caller_slice_ms`.
 * Otherwise it waits. In each tick of the event loop every waiting caller starts the same number of calls, and continues
 * with further ones for at most `waiting_slice_ms`. Between two ticks the hub serves its connections.
 */
import { TurnbellError } from '../contracts/errors/errors.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Caller } from '../contracts/token.ts'
import type { Clock } from '../ports/clock.ts'
import type { SentAnswer } from '../ports/sent-answer.ts'

/**
 * `look`: reads only, and mostly keeps the loop busy. `change`: mostly waits for the disk, together with others. `pass`:
 * only makes other calls, which are queued themselves; so any number of these may run.
 */
export type Weight = 'look' | 'change' | 'pass'

/** Frees the place of a call. Calling it again changes nothing. */
export type Leave = () => void

export interface FairQueue {
  /**
   * Throws or rejects with `limit_reached` if too many calls of this caller wait. A look whose client is gone leaves the queue; it
   * rejects with `request_invalid`.
   */
  enter(
    caller: Pick<Caller, 'kind' | 'identity'>,
    weight: Weight,
    answer?: SentAnswer,
  ): Leave | Promise<Leave>
}

/** One caller's calls of one weight. */
interface Lane {
  running: number
  waiting: Waiting[]
  /** Time and tick in which its calls began to keep the loop busy. */
  began: number
  tick: number
  ended: number
  readonly weight: Weight
}

interface Waiting {
  start: (leave: Leave) => void
}

const RUNNING_MAX = { look: LIMITS.reads_running_max, change: LIMITS.changes_running_max, pass: Infinity }
/** Calls with which a waiting lane begins each tick of the loop. */
const PER_TICK = { look: 1, change: 8, pass: 1 }

export function createFairQueue(clock: Pick<Clock, 'monotonic' | 'soon'>): FairQueue {
  const lanes = new Map<string, Lane>()
  /** Lanes with waiting calls, in the order in which they began to wait. */
  const busy = new Set<Lane>()
  let tick = 0
  let is_due = false

  const laneOf = (key: string, weight: Weight): Lane => {
    const known = lanes.get(key)
    if (known !== undefined) return known
    const lane: Lane = { running: 0, waiting: [], began: 0, tick: -1, ended: 0, weight }
    lanes.set(key, lane)
    return lane
  }

  const begin = (lane: Lane): Leave => {
    lane.running += 1
    let left = false
    return () => {
      if (left) return
      left = true
      lane.running -= 1
      lane.ended = clock.monotonic()
      if (lane.waiting.length === 0) return
      const continues = lane.tick === tick && lane.ended - lane.began < LIMITS.waiting_slice_ms
      if (continues && hasRoom(lane)) startWaiting(lane, 1)
      else pumpSoon()
    }
  }

  const startWaiting = (lane: Lane, count: number) => {
    for (const { start } of lane.waiting.splice(0, count)) start(begin(lane))
    if (lane.waiting.length === 0) busy.delete(lane)
  }

  const pumpSoon = () => {
    if (is_due) return
    is_due = true
    clock.soon(pump)
  }

  const pump = () => {
    is_due = false
    tick += 1
    for (const lane of busy) {
      lane.tick = tick
      lane.began = clock.monotonic()
      const room = Math.min(PER_TICK[lane.weight], RUNNING_MAX[lane.weight] - lane.running)
      startWaiting(lane, Math.max(0, room))
      if (lane.waiting.length > 0 && hasRoom(lane)) pumpSoon()
    }
  }

  return {
    enter({ kind, identity }, weight, answer) {
      const lane = laneOf(`${weight} ${kind} ${identity}`, weight)
      if (lane.waiting.length === 0 && hasRoom(lane) && !hasUsedSlice(lane, tick, clock.monotonic()))
        return begin(lane)
      if (lane.waiting.length >= LIMITS.calls_waiting_max) {
        throw new TurnbellError('limit_reached', {
          detail: `${LIMITS.calls_waiting_max} calls of the ${kind} ${identity} are waiting.`,
          hint: 'Wait for the responses to earlier calls.',
        })
      }
      return new Promise<Leave>((start, reject) => {
        const waiting: Waiting = { start }
        lane.waiting.push(waiting)
        busy.add(lane)
        if (hasRoom(lane)) pumpSoon()
        if (weight === 'look')
          void answer?.written().then((how) => {
            const at = how === 'broken' ? lane.waiting.indexOf(waiting) : -1
            if (at === -1) return
            lane.waiting.splice(at, 1)
            reject(new TurnbellError('request_invalid', { detail: 'The client is gone.' }))
          })
      })
    },
  }
}

const hasRoom = ({ running, weight }: Lane) => running < RUNNING_MAX[weight]

/** Returns whether the calls of a lane have kept the loop busy for `caller_slice_ms` in this tick. */
function hasUsedSlice(lane: Lane, tick: number, now: number): boolean {
  if (lane.tick !== tick || now - lane.ended >= LIMITS.caller_slice_ms) {
    lane.tick = tick
    lane.began = now
  }
  return now - lane.began >= LIMITS.caller_slice_ms
}
