/** Hub and witnesses on the scales, from before any traffic to after all of it. */
import { Violation } from '../support/violation.ts'
import { slope, weigh, type Weight } from './gauges.ts'
import type { Supervised } from './supervised.ts'

/**
 * `idle`: all are there and nothing has happened. `start`: warmed up. `watched`: from here on it counts, until the day is
 * over, and nothing that is weighed falls. `end`: nothing happens any more.
 */
export type Mark = 'idle' | 'start' | 'middle' | 'watched' | 'end'

export interface Scale {
  name: string
  /** Without those that are still to come, or at which it was down. */
  marks: Readonly<Partial<Record<Mark, Weight>>>
  latest: Weight
  /** While it is watched; null before it was weighed twice in that. */
  per_minute: { rss_mib: number; fds: number } | null
  steady: Growth | null
}

/** From one third of the time in which it is watched to the next: the smaller one of both. */
export interface Growth {
  mib: number
  minutes: number
}

/**
 * What a runtime's heap may breathe; and what the hub keeps in memory of each signal, for seven days. Sockets are
 * exact but for one that is just being closed; files may be the segments of the journal that the hub has read last.
 */
const RSS_SPARE_MIB = { hub: 64, daemon: 32 }
const KEPT_BYTES_PER_SIGNAL = 512
const SOCKETS_SPARE = 2
const FILES_SPARE = { hub: 20, daemon: 2 }
/**
 * From third to third of the time in which it is watched. In half an hour a third is two minutes: a hub that leaks 5 MiB a minute, beside
 * what it keeps, or a daemon that leaks 2, is found. One that is well was seen to grow by 1.3 and 0.25 MiB a minute.
 */
const STEADY_SPARE_MIB = { hub: 8, daemon: 3 }
const STEADY_MIB_PER_MINUTE = { hub: 1, daemon: 0.5 }
/** In less time the heap of a process that has just started fills, too. */
const STEADY_MINUTES_MIN = 0.5

export class Scales {
  private readonly processes: readonly Supervised[]
  private readonly marks = new Map<string, Partial<Record<Mark, Weight>>>()
  private readonly latest = new Map<string, Weight>()
  /** Since `watched`; null until then. */
  private weights: Map<string, Weight[]> | null = null

  constructor(processes: readonly Supervised[]) {
    this.processes = processes
  }

  /** Once more. With a mark the weight is remembered by it. */
  weigh(mark?: Mark): void {
    if (mark === 'watched') this.weights = new Map()
    for (const { name, pid } of this.processes) {
      const weight = pid === null ? null : weigh(pid)
      if (weight === null) continue
      this.latest.set(name, weight)
      const marks = { ...this.marks.get(name), ...(mark === undefined ? {} : { [mark]: weight }) }
      this.marks.set(name, marks)
      if (this.weights === null) continue
      // One that was down when the watch began is watched from when it is there again.
      marks.watched ??= weight
      this.weights.set(name, [...(this.weights.get(name) ?? []), weight])
    }
  }

  /** As far as they were weighed. */
  read(): Scale[] {
    return this.processes.flatMap(({ name }) => {
      const latest = this.latest.get(name)
      if (latest === undefined) return []
      const weights = this.weights?.get(name) ?? []
      const marks = this.marks.get(name) ?? {}
      return [{ name, latest, marks, per_minute: growthPerMinute(weights), steady: steadyGrowth(weights) }]
    })
  }
}

function growthPerMinute(weights: readonly Weight[]): Scale['per_minute'] {
  if (weights.length < 2) return null
  return { rss_mib: slope(weights, ({ rss_mib }) => rss_mib), fds: slope(weights, ({ fds }) => fds) }
}

/**
 * What fills up after a start does so less and less, and what breathes falls again; a leak goes on. So the growth that
 * counts is that which is there both from the first third to the second and from that to the last, in medians.
 */
export function steadyGrowth(weights: readonly Weight[]): Growth | null {
  const size = Math.floor(weights.length / 3)
  if (size === 0) return null
  const [first, second, last] = [0, 1, 2].map((third) => {
    const some = weights.slice(third * size, third === 2 ? undefined : (third + 1) * size)
    return { mib: median(some.map(({ rss_mib }) => rss_mib)), at: median(some.map(({ at }) => at)) }
  }) as [Middle, Middle, Middle]
  const growths = [since(first, second), since(second, last)]
  return growths.reduce((smaller, one) => (one.mib < smaller.mib ? one : smaller))
}

interface Middle {
  mib: number
  at: number
}

function since(before: Middle, after: Middle): Growth {
  return { mib: after.mib - before.mib, minutes: (after.at - before.at) / 60_000 }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number
}

/**
 * Memory and descriptors are flat: a witness's since it was warm, a hub's since it is watched, and neither
 * grows steadily in that. `signals`: how many the hub had to keep since then.
 */
export function notFlat({ name, marks, latest, steady }: Scale, signals: number): Violation | null {
  // One at which it was down is like the next one: less can have grown since then.
  const { end = latest } = marks
  const { watched = end } = marks
  const { start = marks.middle ?? watched } = marks
  const { idle = start } = marks
  const kind = name === 'hub' ? 'hub' : 'daemon'
  const kept_mib = kind === 'hub' ? (signals * KEPT_BYTES_PER_SIGNAL) / 2 ** 20 : 0
  const grown = end.rss_mib - (kind === 'hub' ? watched : start).rss_mib
  if (grown > RSS_SPARE_MIB[kind] + kept_mib)
    return new Violation('memory is flat', `${name} grew by ${grown.toFixed(1)} MiB, ${signals} signals`)
  if (steady !== null && steady.minutes >= STEADY_MINUTES_MIN) {
    const spare = STEADY_SPARE_MIB[kind] + STEADY_MIB_PER_MINUTE[kind] * steady.minutes + kept_mib / 3
    if (steady.mib > spare)
      return new Violation(
        'memory is flat',
        `${name} grew by ${steady.mib.toFixed(1)} MiB in ${steady.minutes.toFixed(1)} minutes, and no less in the same time before or after it`,
      )
  }
  if (end.sockets - idle.sockets > SOCKETS_SPARE)
    return new Violation(
      'descriptors are flat',
      `${name} had ${idle.sockets} sockets, and has ${end.sockets}`,
    )
  if (end.fds - end.sockets - (idle.fds - idle.sockets) > FILES_SPARE[kind])
    return new Violation('descriptors are flat', `${name} had ${idle.fds}, and has ${end.fds}`)
  return null
}
