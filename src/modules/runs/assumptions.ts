/** What a run takes for granted, and how much of it turned out otherwise. */
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Assumption, AssumptionsAnswer, AssumptionsInput, Run } from '../../contracts/runs.ts'

export interface AssumptionChange {
  type: 'assumption_made' | 'assumption_held' | 'assumption_broken'
  text: string
}

/** The list as it then is, and what changed in it. Throws `params_invalid` and `limit_reached`. */
export function changeAssumptions(
  before: readonly Assumption[],
  input: Pick<AssumptionsInput, 'add' | 'hold' | 'break'>,
): { assumptions: Assumption[]; changes: AssumptionChange[] } {
  const assumptions = before.map((one) => ({ ...one }))
  const changes: AssumptionChange[] = []
  for (const text of input.add) {
    // Saying it twice does not make it two.
    if (assumptions.some((one) => one.text === text)) continue
    assumptions.push({ text, status: 'open' })
    changes.push({ type: 'assumption_made', text })
  }
  if (assumptions.length > LIMITS.run_assumptions_max) {
    throw new TurnbellError('limit_reached', {
      detail: `A run has at most ${LIMITS.run_assumptions_max} assumptions.`,
      hint: 'Write down what the work stands on, not every step.',
    })
  }
  const settle = (refs: AssumptionsInput['hold'], status: 'held' | 'broken') => {
    for (const ref of refs) {
      const one = found(assumptions, ref)
      if (one.status === status) continue
      one.status = status
      changes.push({ type: `assumption_${status}`, text: one.text })
    }
  }
  settle(input.hold, 'held')
  settle(input.break, 'broken')
  return { assumptions, changes }
}

/** A run that assumes nothing has not drifted. */
export function driftOf({ run_id, assumptions }: Pick<Run, 'run_id' | 'assumptions'>): AssumptionsAnswer {
  const broken = assumptions.filter(({ status }) => status === 'broken').length
  const drift = assumptions.length === 0 ? 0 : Math.round((broken / assumptions.length) * 1000) / 1000
  return { run_id, assumptions: assumptions.map((one, index) => ({ number: index + 1, ...one })), drift }
}

function found(assumptions: Assumption[], ref: string | number): Assumption {
  const one = typeof ref === 'number' ? assumptions[ref - 1] : assumptions.find(({ text }) => text === ref)
  if (one !== undefined) return one
  throw new TurnbellError('params_invalid', {
    detail: `The run has no assumption ${JSON.stringify(ref)}; it has ${assumptions.length}.`,
    hint: 'Name one by its text or its number, as `vector assumptions` without changes lists them.',
  })
}
