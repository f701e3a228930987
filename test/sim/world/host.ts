/**
 * One simulated process. It can be killed, stopped, resumed, suspended with its machine, and have its clock set.
 * Everything it receives goes through `act`: a dead process receives nothing, and a stopped one receives it later.
 */
import { createIds } from '../../../src/system/random.ts'
import type { Clock, Timer } from '../../../src/ports/clock.ts'
import type { Ids, Random } from '../../../src/ports/random.ts'
import type { Dice } from '../../support/dice.ts'
import type { Timeline } from '../timeline.ts'
import type { Wall } from './wall.ts'

export const START = Date.parse('2026-03-01T12:00:00.000Z')

/** Services of the world that a process uses. */
export interface HostWorld {
  timeline: Timeline
  wall: Wall
  dice: Dice
  /** Called after a process ended by an uncaught exception. */
  onThrown(host: Host, error: unknown): void
}

/** Thrown inside a process that is killed during a call. It is not reported. */
export class Killed extends Error {}

export class Host {
  readonly name: string
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  alive = true
  /** How often the process was stopped or suspended. */
  pauses = 0
  private readonly world: HostWorld
  private readonly born: number
  private stopped = false
  private slept_ms = 0
  private slept_from: number | null = null
  private clock_offset_ms = 0
  private backlog: (() => void)[] = []
  /** Whether more missed events follow at this moment. */
  private catching_up = false
  private readonly endings: (() => void)[] = []
  /** Reads of data that waits in the sockets of this machine, in the order of writing. */
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

  /** Runs `call` in this process: now, after it resumes and has run earlier calls, or never. */
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

  /** Receives data over a local socket. It is read after a delay, or by `readUp`. */
  reads(delay_ms: number, read: () => void): void {
    const once = () => {
      if (this.unread.delete(once)) read()
    }
    this.unread.add(once)
    this.world.timeline.at(delay_ms, once)
  }

  /** Reads everything written to this process before later data: a daemon's pong waits for it. */
  readUp(): void {
    for (const read of [...this.unread]) read()
  }

  /** Registers a call that runs once when the process ends for any reason. */
  onEnd(call: () => void): void {
    this.endings.push(call)
  }

  /** kill -9: the process does nothing more. */
  kill(): void {
    if (!this.alive) return
    this.alive = false
    this.backlog = []
    for (const call of this.endings.splice(0)) call()
  }

  /** SIGSTOP: time passes, and due timers wait. */
  stop(): void {
    this.pauses += 1
    this.stopped = true
  }

  resume(): void {
    this.stopped = false
    this.catchUp()
  }

  /** The machine is suspended: the wall clock advances, the monotonic clock does not. */
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

  /** Sets the clock of this process only, as if it ran on another machine. */
  setClock(by_ms: number): void {
    this.clock_offset_ms += by_ms
    this.world.wall.sets += 1
  }

  private monotonic(): number {
    const until = this.slept_from ?? this.world.timeline.now
    return until - this.born - this.slept_ms + 1000
  }

  /** Runs missed calls one at a time, like an event loop: pending promises are settled in between. */
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
      // The machine was suspended in the meantime.
      const left_ms = due - this.monotonic()
      if (left_ms > 0) return arm(left_ms)
      if (interval_ms !== null) {
        // Missed ticks of an interval are skipped.
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
