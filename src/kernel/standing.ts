/** Calls that calls make: how deep and how many, and what none of them may take that is answered only once. */
import type { Found } from './define.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'

/** Where a call stands among those that it was made by. */
export interface Standing {
  /** How many calls it is inside of. */
  depth: number
  /** How many calls were made inside the outermost one, together. */
  made: { count: number }
  /** What it answers is the answer of the outermost call, and nothing else is. */
  whole: boolean
}

/** What calls others may neither go on for ever nor spread without end. */
export function bound({ depth, made }: Standing): void {
  if (depth > LIMITS.call_depth_max) {
    throw new TurnbellError('limit_reached', {
      detail: `A call may stand inside at most ${LIMITS.call_depth_max} others.`,
      hint: 'Call the innermost action by itself.',
    })
  }
  if (depth > 0 && ++made.count > LIMITS.calls_inside_max) {
    throw new TurnbellError('limit_reached', {
      detail: `At most ${LIMITS.calls_inside_max} calls may be made inside one.`,
      hint: 'Make fewer of them at once.',
    })
  }
}

export function isHarmless({ action }: Found, input: unknown): boolean {
  return action.harmless?.(input) === true
}

/**
 * Whoever carries an answer to its caller knows by the call's name that it hands over, and looks after it
 * until it arrived. Inside another answer nobody would see it. Throws `handover_forbidden`.
 */
export function handOver(found: Found, input: unknown, { whole }: Standing): void {
  if (whole || found.action.hands_over !== true || isHarmless(found, input)) return
  throw new TurnbellError('handover_forbidden', {
    detail: `What ${found.facade.name} ${found.name} answers is answered once, and here it would be part of another answer.`,
  })
}
