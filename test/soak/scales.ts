/** Hub and witnesses on the scales, from before any traffic to after all of it. */
import { Violation } from '../sim/violation.ts'
import { slope, weigh, type Weight } from './gauges.ts'
import type { Supervised } from './supervised.ts'

/**
 * `idle`: all are there and nothing has happened. `start`: warmed up. `quarter`: the last in which anything happens,
 * and in which nothing that is weighed falls. `end`: nothing happens any more.
 */
export type Mark = 'idle' | 'start' | 'middle' | 'quarter' | 'end'

export interface Scale {
  name: string
  marks: Readonly<Record<Mark, Weight>>
  /** Within the last quarter. */
  rss_mib_per_minute: number
  fds_per_minute: number
}

/**
 * What a runtime's heap may breathe; and what the hub keeps in memory of each signal, for seven days. Sockets are
 * exact but for one that is just being closed; files may be the segments of the journal that the hub has read last.
 */
const RSS_SPARE_MIB = { hub: 64, daemon: 32 }
const KEPT_BYTES_PER_SIGNAL = 4_096
const SOCKETS_SPARE = 2
const FILES_SPARE = { hub: 20, daemon: 2 }

export class Scales {
  private readonly processes: readonly Supervised[]
  private readonly marks = new Map<string, Partial<Record<Mark, Weight>>>()
  /** Since the last `quarter`. */
  private readonly weights = new Map<string, Weight[]>()

  constructor(processes: readonly Supervised[]) {
    this.processes = processes
  }

  /** Once more. With a mark the weight is remembered by it. */
  weigh(mark?: Mark): void {
    for (const { name, pid } of this.processes) {
      const weight = pid === null ? null : weigh(pid)
      if (weight === null) continue
      if (mark === 'quarter') this.weights.set(name, [])
      this.weights.get(name)?.push(weight)
      if (mark !== undefined) this.marks.set(name, { ...this.marks.get(name), [mark]: weight })
    }
  }

  read(): Scale[] {
    return this.processes.flatMap(({ name }) => {
      const { end, ...marks } = this.marks.get(name) ?? {}
      if (end === undefined) return []
      const quarter = marks.quarter ?? end
      const middle = marks.middle ?? quarter
      const start = marks.start ?? middle
      const weights = this.weights.get(name) ?? []
      return [
        {
          ...{ name, marks: { idle: marks.idle ?? start, start, middle, quarter, end } },
          rss_mib_per_minute: slope(weights, ({ rss_mib }) => rss_mib),
          fds_per_minute: slope(weights, ({ fds }) => fds),
        },
      ]
    })
  }
}

/**
 * Memory and descriptors are flat: a witness's since it was warm, a hub's since its last quarter began. `signals`: how
 * many the hub had to keep since then.
 */
export function notFlat({ name, marks }: Scale, signals: number): Violation | null {
  const kind = name === 'hub' ? 'hub' : 'daemon'
  const kept_mib = kind === 'hub' ? (signals * KEPT_BYTES_PER_SIGNAL) / 2 ** 20 : 0
  const grown = marks.end.rss_mib - (kind === 'hub' ? marks.quarter : marks.start).rss_mib
  if (grown > RSS_SPARE_MIB[kind] + kept_mib)
    return new Violation('memory is flat', `${name} grew by ${grown.toFixed(1)} MiB, ${signals} signals`)
  const { idle, end } = marks
  if (end.sockets - idle.sockets > SOCKETS_SPARE)
    return new Violation(
      'descriptors are flat',
      `${name} had ${idle.sockets} sockets, and has ${end.sockets}`,
    )
  if (end.fds - end.sockets - (idle.fds - idle.sockets) > FILES_SPARE[kind])
    return new Violation('descriptors are flat', `${name} had ${idle.fds}, and has ${end.fds}`)
  return null
}
