/** Assumptions of a run, and its drift: the share of them that broke. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Assumption, AssumptionsAnswer, AssumptionsInput, Run } from '../../contracts/runs/runs.ts'

export interface AssumptionChange {
  type: 'assumption_made' | 'assumption_held' | 'assumption_broken'
  text: string
}

/** Returns the new list and its changes. Throws `params_invalid` and `limit_reached`. */
export function changeAssumptions(
  before: readonly Assumption[],
  input: Pick<AssumptionsInput, 'add' | 'hold' | 'break'>,
): { assumptions: Assumption[]; changes: AssumptionChange[] } {
  const assumptions = before.map((one) => ({ ...one }))
  const changes: AssumptionChange[] = []
  for (const text of input.add) {
    // Adding an assumption is idempotent.
    if (assumptions.some((one) => one.text === text)) continue
    assumptions.push({ text, status: 'open' })
    changes.push({ type: 'assumption_made', text })
  }
  if (assumptions.length > LIMITS.run_assumptions_max) {
    throw new TurnbellError('limit_reached', {
      detail: `A run has at most ${LIMITS.run_assumptions_max} assumptions.`,
      hint: 'Record what the work depends on, not every step.',
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

/** Drift is 0 for a run without assumptions. */
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
    hint: 'Pass the text or number of an assumption; list them with `vector assumptions` without changes.',
  })
}
