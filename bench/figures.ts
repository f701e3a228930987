/** What a benchmark says, and how many noisy rounds become one figure. */
import { shownRatio } from './verdict.mjs'

/** One line of the output. */
export interface Figure {
  name: string
  /** This and the next two are null where nothing could be measured; `method` says why. */
  value: number | null
  unit: string
  /** What `value` is compared to, in the same unit, measured in the same rounds. */
  limit: number | null
  /** value / limit, as it is shown. */
  ratio: number | null
  /** What the ratio shall be, with the number or the name of the goal; null where it is only to be looked at. */
  goal: Goal | null
  /** How it was measured, and how far the rounds lay apart. */
  method: string
}

export type Goal = `${string}: ${'<=' | '>='} ${number}`

/** One round: the product and what it is compared to, each measured once. */
export interface Pair {
  value: number
  limit: number
}

/**
 * Takes the round whose ratio is the median. A machine that is slow for a while is slow for both sides
 * of a round, so ratios spread far less than values; and value, limit and ratio stay figures of one
 * round that really happened. `method` says in parts how that round was measured.
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

/** The line of what this machine cannot measure. Nobody shall take it for a figure. */
export function leftOut(name: string, unit: string, goal: Goal | null, why: string): Figure {
  return { name, value: null, unit, limit: null, ratio: null, goal, method: `LEFT OUT: ${why}` }
}

/** Runs every variant once a round, back and forth, so that none always runs first. */
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
