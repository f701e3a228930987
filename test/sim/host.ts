/**
 * One simulated process. It can be killed, stopped and resumed, put to sleep with its machine, and have its clock set.
 * What it is given of the world goes through `act`, so that nothing reaches a process that is gone, and what reaches
 * one that stands still waits.
 */
import { createIds } from '../../src/system/random.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Ids, Random } from '../../src/ports/random.ts'
import type { Dice } from '../support/dice.ts'
import type { Timeline } from './timeline.ts'
import type { Wall } from './wall.ts'

export const START = Date.parse('2026-03-01T12:00:00.000Z')

/** What the world does for its processes. */
export interface HostWorld {
  timeline: Timeline
  wall: Wall
  dice: Dice
  /** A process threw what nobody caught; it is gone by then. */
  onThrown(host: Host, error: unknown): void
}

/** What a process that was killed in the middle of a call finds thrown at it. Nobody is told. */
export class Killed extends Error {}

export class Host {
  readonly name: string
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  alive = true
  /** How often it was stopped, or put to sleep. */
  pauses = 0
  private readonly world: HostWorld
  private readonly born: number
  private stopped = false
  private slept_ms = 0
  private slept_from: number | null = null
  private clock_offset_ms = 0
  private backlog: (() => void)[] = []
  /** More of it is to come, at this very moment. */
  private catching_up = false
  private readonly endings: (() => void)[] = []
  /** What waits in the sockets of its own machine, in the order in which it was written. */
  private readonly unread = new Set<() => void>()

  constructor(name: string, world: HostWorld, clock_offset_ms = 0) {
    this.name = name
    this.world = world
    this.born = world.timeline.now
    this.clock_offset_ms = clock_offset_ms
    this.random = { next: () => world.dice.next(), bytes: (count) => world.dice.bytes(count) }
    this.clock = {
      now: () => START + world.wall.now + this.clock_offset_ms,
      monotonic: () => this.monotonic(),
      after: (delay_ms, call) => this.timer(delay_ms, null, call),
      every: (interval_ms, call) => this.timer(interval_ms, interval_ms, call),
      soon: (call) => void world.timeline.at(0, () => this.act(call)),
    }
    this.ids = createIds(this.clock, this.random)
  }

  get awake(): boolean {
    return this.alive && !this.stopped && this.slept_from === null
  }

  get clockOffset(): number {
    return this.clock_offset_ms
  }

  /** Runs something in this process: now, when it goes on and has done what came before, or never. */
  act(call: () => void): void {
    if (!this.alive) return
    if (!this.awake || this.catching_up) return void this.backlog.push(call)
    this.run(call)
  }

  private run(call: () => void): void {
    try {
      call()
    } catch (error) {
      if (error instanceof Killed) return
      this.kill()
      this.world.onThrown(this, error)
    }
  }

  /** Something came over a socket of its own machine: it is read after a while, or by `readUp`. */
  reads(delay_ms: number, read: () => void): void {
    const once = () => {
      if (this.unread.delete(once)) read()
    }
    this.unread.add(once)
    this.world.timeline.at(delay_ms, once)
  }

  /** What was written to this process by now is read before what comes: a daemon's pong waits for it. */
  readUp(): void {
    for (const read of [...this.unread]) read()
  }

  /** Called once when the process ends, however it does. */
  onEnd(call: () => void): void {
    this.endings.push(call)
  }

  /** kill -9: it does nothing more from here on. */
  kill(): void {
    if (!this.alive) return
    this.alive = false
    this.backlog = []
    for (const call of this.endings.splice(0)) call()
  }

  /** SIGSTOP: time passes, timers that come due wait. */
  stop(): void {
    this.pauses += 1
    this.stopped = true
  }

  resume(): void {
    this.stopped = false
    this.catchUp()
  }

  /** Its machine sleeps: the clock on the wall goes on, the monotonic one stands still. */
  sleep(): void {
    this.pauses += 1
    this.slept_from ??= this.world.timeline.now
  }

  wake(): void {
    if (this.slept_from === null) return
    this.slept_ms += this.world.timeline.now - this.slept_from
    this.world.wall.slept(this.slept_from)
    this.slept_from = null
    this.catchUp()
  }

  /** This process reads another time than the others, as on a machine of its own. */
  setClock(by_ms: number): void {
    this.clock_offset_ms += by_ms
    this.world.wall.sets += 1
  }

  private monotonic(): number {
    const until = this.slept_from ?? this.world.timeline.now
    return until - this.born - this.slept_ms + 1000
  }

  /** One after the other, as a loop of events does: what only waits for promises comes to rest in between. */
  private catchUp(): void {
    if (!this.awake || this.catching_up) return
    const call = this.backlog.shift()
    if (call === undefined) return
    this.run(call)
    this.catching_up = true
    this.world.timeline.at(0, () => {
      this.catching_up = false
      this.catchUp()
    })
  }

  private timer(delay_ms: number, interval_ms: number | null, call: () => void): Timer {
    let cancelled = false
    let due = this.monotonic() + Math.max(0, delay_ms)
    const fire = () => {
      if (cancelled) return
      // It slept meanwhile.
      const left_ms = due - this.monotonic()
      if (left_ms > 0) return arm(left_ms)
      if (interval_ms !== null) {
        // What was missed is not made up for.
        due = Math.max(due + interval_ms, this.monotonic())
        arm(due - this.monotonic())
      }
      call()
    }
    const arm = (left_ms: number) => void this.world.timeline.at(left_ms, () => this.act(fire))
    arm(Math.max(0, delay_ms))
    return { cancel: () => void (cancelled = true) }
  }
}
