/** Bounds of nested calls: their depth, their number, and the actions that must be the outermost call. */
import { spend, type Budget } from './budget.ts'
import type { Found } from './define.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { LIMITS } from '../contracts/limits/limits.ts'

/** Position of a call in the tree of nested calls of one request. */
export interface Nesting {
  /** Number of calls around it; 0 for the outermost. */
  depth: number
  /** Shared with every call of the same request. */
  budget: Budget
  /** True if its answer is returned unchanged as the answer of the outermost call. */
  whole: boolean
}

/** Counts a call. Throws `limit_reached` if it is nested too deep, or if its request has used up its budget. */
export function countCall({ depth, budget }: Nesting): void {
  if (depth > LIMITS.call_depth_max) {
    throw new TurnbellError('limit_reached', {
      detail: `Calls may be nested at most ${LIMITS.call_depth_max} deep.`,
      hint: 'Call the innermost action by itself.',
    })
  }
  spend(budget)
}

export function isHarmless({ action }: Found, input: unknown): boolean {
  return action.harmless?.(input) === true
}

/**
 * Throws `handover_forbidden` for an action whose result is delivered once (a drain) unless it is the outermost call.
 * A transport recognises such an action by the name of the call, and follows its answer until it has arrived. It cannot
 * see one inside another answer.
 */
export function assertCalledDirectly(found: Found, input: unknown, { whole }: Nesting): void {
  if (whole || found.action.hands_over !== true || isHarmless(found, input)) return
  throw new TurnbellError('handover_forbidden', {
    detail: `${found.facade.name} ${found.name} delivers its result once, so it must be called directly and not inside another call.`,
  })
}
