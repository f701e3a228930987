/**
 * Faults of bad days, each with a beginning and an end, at random from a seed. Several may be active at a time. Kills
 * and stops of processes continue independently.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Dice } from '../../support/dice.ts'
import type { Agent } from '../agent.ts'
import { ATTACKS } from '../hostile/attacks.ts'
import type { Supervised } from '../supervised.ts'
import type { Traffic } from '../traffic.ts'
import type { HostileCaller } from './hostile-caller.ts'
import type { Place } from './place.ts'

export const FAULTS = [
  'full disk, no bytes',
  'full disk, no names',
  'read-only hub directory',
  'read-only home',
  'clock forward',
  'clock back',
  'run directory deleted',
  'runtime directory deleted',
  'spool deleted',
  'logs deleted',
  'all daemons killed',
  'burst of sends',
  'strangers',
  'everybody prompted',
  'hostile caller',
] as const
export type Fault = (typeof FAULTS)[number]
type Counts = Record<Fault, number>

export interface FaultsWorld {
  dice: Dice
  place: Place
  hub: Supervised
  daemons: ReadonlyMap<string, Supervised>
  agents: ReadonlyMap<string, Agent>
  traffic: Traffic
  hostile: HostileCaller
  faults_per_minute: number
}

/** Duration of a fault, in milliseconds. */
const LASTS_MS = { least: 2_000, most: 12_000 }
/** Changes of the clock in seconds, small compared with a token's lifetime of an hour and a lease of half an hour. */
const CLOCK_S = { least: 5, most: 240 }
const BURST = { least: 100, most: 300 }
const SPARE_MAX = 8
/** A process that started on a failing disk has ended within this time after the disk recovered. */
const DISK_RECENT_MS = 10_000
const ATTACKS_AT_ONCE = 6
const STRANGERS = ['WebSockets without a token']

/** Ends a fault; null for a fault without a duration. */
type End = (() => void | Promise<void>) | null

export class Faults {
  readonly counts = Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Counts
  private readonly world: FaultsWorld
  private next_ms: number
  /** Each fault occurs once before any occurs twice. */
  private deck: Fault[] = []
  /** Active faults; at most one of each slot. */
  private readonly ends = new Map<string, () => Promise<void>>()
  private disk_well_since = -Infinity

  constructor(world: FaultsWorld) {
    this.world = world
    this.next_ms = this.interval()
  }

  /** Whether a failing disk may prevent a process from starting now. */
  get diskIsBad(): boolean {
    const on = this.ends.has('disk') || this.ends.has('read-only')
    return on || performance.now() - this.disk_well_since < DISK_RECENT_MS
  }

  /** Starts the faults of this many milliseconds. */
  pass(ms: number): void {
    this.next_ms -= ms
    while (this.next_ms <= 0) {
      this.next_ms += this.interval()
      this.begin()
    }
  }

  /** Ends all active faults and starts no more. */
  async end(): Promise<void> {
    this.next_ms = Infinity
    await Promise.all([...this.ends.values()].map((end) => end()))
  }

  private interval(): number {
    const { dice, faults_per_minute } = this.world
    return -Math.log(1 - dice.next()) * (60_000 / faults_per_minute)
  }

  /** Starts the next possible fault; the others stay in the deck. */
  private begin(): void {
    const { dice } = this.world
    if (this.deck.length === 0) this.deck = shuffled(FAULTS.filter(this.isPossible), dice)
    const length_ms = dice.between(LASTS_MS.least, LASTS_MS.most)
    for (const fault of this.deck) {
      const slot = slotOf(fault)
      const end = this.ends.has(slot) ? undefined : this.happen(fault)
      if (end === undefined) continue
      this.deck = this.deck.filter((one) => one !== fault)
      this.counts[fault] += 1
      if (end !== null) this.endAfter(slot, length_ms, end)
      return
    }
  }

  private readonly isPossible = (fault: Fault): boolean => {
    const { faulty } = this.world.place
    const slot = slotOf(fault)
    if (slot === 'disk' || slot === 'read-only') return faulty?.disk !== null
    return fault !== 'runtime directory deleted' || faulty?.long_name === true
  }

  private endAfter(slot: string, length_ms: number, act: () => void | Promise<void>): void {
    let ended: Promise<void> | null = null
    const end = () =>
      (ended ??= (async () => {
        clearTimeout(timer)
        try {
          await act()
        } finally {
          this.ends.delete(slot)
          if (slot === 'disk' || slot === 'read-only') this.disk_well_since = performance.now()
        }
      })())
    const timer = setTimeout(() => void end(), length_ms)
    this.ends.set(slot, end)
  }

  /** Returns undefined if the fault is impossible here or has no target. */
  private happen(fault: Fault): End | undefined {
    const { dice, place, daemons, agents, traffic, hostile } = this.world
    const { home, faulty } = place
    if (faulty === null) return undefined
    const { disk, clock } = faulty
    switch (fault) {
      case 'full disk, no bytes':
      case 'full disk, no names':
        disk?.fill(fault === 'full disk, no bytes' ? 'bytes' : 'names', dice.between(0, SPARE_MAX))
        return disk === null ? undefined : () => disk.makeRoom()
      case 'read-only hub directory':
      case 'read-only home': {
        const directory = fault === 'read-only home' ? home.root : home.hub_dir
        disk?.setReadOnly(directory)
        return disk === null ? undefined : () => disk.setWritable(directory)
      }
      case 'clock forward':
      case 'clock back': {
        const shift_ms = dice.between(CLOCK_S.least, CLOCK_S.most) * 1_000
        clock.shift(fault === 'clock back' ? -shift_ms : shift_ms)
        return () => clock.shift(0)
      }
      case 'run directory deleted':
        return this.remove(path.join(home.root, 'run'))
      case 'runtime directory deleted':
        return this.remove(faulty.runtime)
      case 'spool deleted':
        return this.remove(home.spool)
      case 'logs deleted':
        return this.remove(home.logs_dir)
      case 'all daemons killed':
        for (const daemon of daemons.values()) daemon.kill()
        return null
      case 'burst of sends':
        traffic.storm(dice.between(BURST.least, BURST.most))
        return null
      case 'everybody prompted':
        for (const agent of agents.values()) agent.prompt()
        return null
      case 'strangers':
        return hostile.strike(STRANGERS)
      case 'hostile caller':
        return hostile.strike(
          shuffled(ATTACKS, dice)
            .slice(0, ATTACKS_AT_ONCE)
            .map(({ name }) => name),
        )
    }
  }

  /** Removes a directory, like a cleanup tool. */
  private remove(directory: string): null | undefined {
    if (!fs.existsSync(directory)) return undefined
    try {
      fs.rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
      return null
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // Processes keep creating files there, or the disk is read-only.
      if (code === 'ENOTEMPTY' || code === 'EROFS') return undefined
      throw error
    }
  }
}

/** Two faults of one slot would undo each other. */
function slotOf(fault: Fault): string {
  if (fault.startsWith('full disk')) return 'disk'
  if (fault.startsWith('read-only')) return 'read-only'
  if (fault.startsWith('clock')) return 'clock'
  return fault === 'strangers' ? 'hostile caller' : fault
}

function shuffled<T>(all: readonly T[], dice: Dice): T[] {
  return all
    .map((one) => ({ one, at: dice.next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one)
}
