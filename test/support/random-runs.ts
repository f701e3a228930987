/** Random runs of a simulation, each from a seed. A run that breaks a promise is shortened to the steps that break it. */
import { Dice } from './dice.ts'
import { Violation } from './violation.ts'

/** One simulation. Everything that it does in the same order has the same result. */
export interface RandomRun {
  /** Plays one step. @throws Violation */
  step(dice: Dice): Promise<void>
  /** Ends all trouble and checks what must then hold. @throws Violation */
  calm(): Promise<void>
  close(): void
}

/** `dice` is the run's own source, for what is decided once. Lines that are added to `story` are printed if it fails. */
export type OpenRun = (seed: number, dice: Dice, story: string[]) => Promise<RandomRun>

export interface RunsPlan {
  /** Default: 1. */
  first_seed?: number
  seeds: number
  steps_min: number
  steps_max: number
}

/** Throws the shortest story that breaks the same promise as the first broken run. */
export async function playRuns(plan: RunsPlan, open: OpenRun): Promise<void> {
  const { first_seed = 1, seeds, steps_min, steps_max } = plan
  for (let seed = first_seed; seed < first_seed + seeds; seed++) {
    const steps = new Dice(seed, 0).between(steps_min, steps_max)
    const numbers = Array.from({ length: steps }, (_, index) => index + 1)
    const failed = await broken({ seed, numbers }, open)
    if (failed !== null) throw await shortest(failed, open)
  }
}

interface Run {
  seed: number
  /** Numbers of the steps to run; each has its own random numbers. */
  numbers: readonly number[]
}

interface Failed extends Run {
  violation: Violation
  story: readonly string[]
}

/** Removes every step that is not needed to break the same promise. */
async function shortest(failed: Failed, open: OpenRun): Promise<Error> {
  let best = failed
  for (const number of failed.numbers) {
    const numbers = best.numbers.filter((one) => one !== number)
    const again = await broken({ seed: failed.seed, numbers }, open)
    if (again?.violation.promise === failed.violation.promise) best = again
  }
  const { violation, story, seed, numbers } = best
  return new Error([violation.message, `seed ${seed}, steps ${numbers.join(' ')}`, ...story].join('\n  '), {
    cause: violation,
  })
}

async function broken({ seed, numbers }: Run, open: OpenRun): Promise<Failed | null> {
  const story: string[] = []
  const run = await open(seed, new Dice(seed, -1), story)
  try {
    for (const number of numbers) await run.step(new Dice(seed, number))
    await run.calm()
    return null
  } catch (error) {
    if (error instanceof Violation) return { seed, numbers, violation: error, story }
    throw error
  } finally {
    run.close()
  }
}

/** A run without some kinds of steps has more of the others. Source: A. Groce et al., "Swarm Testing", 2012. */
export function swarmWeights<Name extends string>(
  weights: Readonly<Record<Name, number>>,
  dice: Dice,
  isKept: (weight: number) => boolean,
): Partial<Record<Name, number>> {
  const kept = (Object.entries(weights) as [Name, number][]).filter(
    ([, weight]) => isKept(weight) || dice.chance(0.5),
  )
  return Object.fromEntries(kept) as Partial<Record<Name, number>>
}
