/** Formats of a benchmark's output, and the reduction of several noisy rounds to one figure. */
import { shownRatio } from './verdict.mjs'

/** One line of the output. */
export interface Figure {
  name: string
  /** This and the next two are null if the measurement was impossible; `method` explains why. */
  value: number | null
  unit: string
  /** Baseline in the same unit, measured in the same round. */
  limit: number | null
  /** value / limit, rounded for display. */
  ratio: number | null
  /** Required ratio, with the number or the name of the goal; null for information only. */
  goal: Goal | null
  /** How it was measured, and the spread of the rounds. */
  method: string
}

export type Goal = `${string}: ${'<=' | '>='} ${number}`

/** One round: the product and its baseline, each measured once. */
export interface Pair {
  value: number
  limit: number
}

/**
 * Takes the round with the median ratio. A slow phase of the machine affects both sides of a round, so ratios vary far
 * less than values; value, limit and ratio then belong to one real round. `method` describes how that round was
 * measured.
 */
export function figure<P extends Pair>(
  name: string,
  unit: string,
  goal: Goal | null,
  pairs: readonly P[],
  method: (round: P) => string[],
  rounds_are = 'interleaved rounds',
): Figure {
  const rounds = pairs
    .map((pair) => ({ pair, ratio: pair.value / pair.limit }))
    .sort((one, other) => one.ratio - other.ratio)
  const middle = rounds[Math.floor((rounds.length - 1) / 2)]
  const lowest = rounds[0]
  const highest = rounds.at(-1)
  if (!middle || !lowest || !highest) throw new Error(`${name}: no round was measured`)
  const shown = ({ value, limit }: Pair) => Number(shownRatio({ value, limit, goal }))
  const spread = `median of ${rounds.length} ${rounds_are}, ratios ${shown(lowest.pair)} to ${shown(highest.pair)}`
  const value = short(middle.pair.value)
  const limit = short(middle.pair.limit)
  return {
    ...{ name, value, unit, limit },
    ratio: shown({ value, limit }),
    goal,
    method: [...method(middle.pair), spread].join('; '),
  }
}

/** Returns the line of a figure that this machine cannot measure; it is marked so that it is not read as a result. */
export function leftOut(name: string, unit: string, goal: Goal | null, why: string): Figure {
  return { name, value: null, unit, limit: null, ratio: null, goal, method: `LEFT OUT: ${why}` }
}

/** Runs every variant once per round, in alternating order, so that none always runs first. */
export async function interleave<R extends object>(
  rounds: number,
  variants: { [V in keyof R]: () => Promise<R[V]> },
): Promise<R[]> {
  const results: R[] = []
  for (let round = 0; round < rounds; round++) {
    const names = Object.keys(variants) as (keyof R)[]
    if (round % 2 === 1) names.reverse()
    const result: Partial<R> = {}
    for (const name of names) result[name] = await variants[name]()
    results.push(result as R)
  }
  return results
}

/** `share` 0.5 is the median. Sorts a copy. */
export function percentile(values: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(values).sort()
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  if (value === undefined) throw new Error('nothing was measured')
  return value
}

export const median = (values: ArrayLike<number>) => percentile(values, 0.5)

/** Four significant digits: the fifth is noise. */
export const short = (value: number) => Number(value.toPrecision(4))

/** Microseconds of the machine's monotonic clock, which all its processes share. */
export const micros = () => Number(process.hrtime.bigint()) / 1000
