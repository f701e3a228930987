/** Measurements of hub and witnesses, from before any traffic until after its end. */
import { Violation } from '../support/violation.ts'
import { slope, weigh, type Weight } from './gauges.ts'
import type { Supervised } from './supervised.ts'

/**
 * Times of measurements. `idle`: all processes run without traffic. `start`: warmed up. `watched`: start of the
 * relevant period, which lasts until the end of the day and in which no measured process is killed. `end`: no more
 * traffic.
 */
export type Mark = 'idle' | 'start' | 'middle' | 'watched' | 'end'

export interface Scale {
  name: string
  /** Without marks that are not reached yet or at which the process was down. */
  marks: Readonly<Partial<Record<Mark, Weight>>>
  latest: Weight
  /** Growth in the relevant period; null with fewer than two measurements in it. */
  per_minute: { rss_mib: number; fds: number } | null
  steady: Growth | null
}

/** Growth from one third of the relevant period to the next: the smaller of the two. */
export interface Growth {
  mib: number
  minutes: number
}

/**
 * Allowed variation of a runtime's heap, and for the hub the memory of each signal, which it keeps for seven days.
 * Sockets are exact, except one that is just closing; files may be recently read segments of the journal.
 */
const RSS_SPARE_MIB = { hub: 64, daemon: 32 }
const KEPT_BYTES_PER_SIGNAL = 512
const SOCKETS_SPARE = 2
const FILES_SPARE = { hub: 20, daemon: 2 }
/**
 * Allowed growth from third to third of the relevant period. In half an hour a third is two minutes: a hub that leaks 5
 * MiB per minute, in addition to the signals that it stores, or a daemon that leaks 2, is detected. Healthy processes
 * grew by 1.3 and 0.25 MiB per minute.
 */
const STEADY_SPARE_MIB = { hub: 8, daemon: 3 }
const STEADY_MIB_PER_MINUTE = { hub: 1, daemon: 0.5 }
/** In a shorter period the heap of a new process still grows. */
const STEADY_MINUTES_MIN = 0.5

export class Scales {
  private readonly processes: readonly Supervised[]
  private readonly marks = new Map<string, Partial<Record<Mark, Weight>>>()
  private readonly latest = new Map<string, Weight>()
  /** Measurements since `watched`; null until then. */
  private weights: Map<string, Weight[]> | null = null

  constructor(processes: readonly Supervised[]) {
    this.processes = processes
  }

  /** Takes another measurement. A mark stores it under that name. */
  weigh(mark?: Mark): void {
    if (mark === 'watched') this.weights = new Map()
    for (const { name, pid } of this.processes) {
      const weight = pid === null ? null : weigh(pid)
      if (weight === null) continue
      this.latest.set(name, weight)
      const marks = { ...this.marks.get(name), ...(mark === undefined ? {} : { [mark]: weight }) }
      this.marks.set(name, marks)
      if (this.weights === null) continue
      // A process that was down at the start of the period is measured from its restart on.
      marks.watched ??= weight
      this.weights.set(name, [...(this.weights.get(name) ?? []), weight])
    }
  }

  /** Returns the measurements so far. */
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
 * Growth after a start slows down, and normal variation is reversed; a leak continues. So only growth counts that is
 * present from the first third to the second and from the second to the last, in medians.
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
 * Returns a violation unless memory and descriptors are flat: a witness's since its warm-up, a hub's since the period
 * began, without steady growth in it. `signals` is the number of signals that the hub has stored since then.
 */
export function notFlat({ name, marks, latest, steady }: Scale, signals: number): Violation | null {
  // A mark at which the process was down is replaced by the next one, since which less can have grown.
  const { end = latest } = marks
  const { watched = end } = marks
  const { start = marks.middle ?? watched } = marks
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
  return descriptorsNotFlat({ name, marks, latest })
}

/** Compares the descriptors at the end with those before any traffic. */
export function descriptorsNotFlat({
  name,
  marks,
  latest,
}: Pick<Scale, 'name' | 'marks' | 'latest'>): Violation | null {
  const { end = latest } = marks
  const { idle = marks.start ?? marks.middle ?? marks.watched ?? end } = marks
  const kind = name === 'hub' ? 'hub' : 'daemon'
  if (end.sockets - idle.sockets > SOCKETS_SPARE)
    return new Violation(
      'descriptors are flat',
      `${name} had ${idle.sockets} sockets, and has ${end.sockets}`,
    )
  if (end.fds - end.sockets - (idle.fds - idle.sockets) > FILES_SPARE[kind])
    return new Violation('descriptors are flat', `${name} had ${idle.fds}, and has ${end.fds}`)
  return null
}
