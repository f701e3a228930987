/** Budget of one request and its nested calls: their number, the size of their answers and their running time. */
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { Json } from '../contracts/ids.ts'
import { roughBytes } from '../contracts/validation/json.ts'
import { LIMITS } from '../contracts/limits/limits.ts'

/** Shared by all calls of one request. */
export interface Budget {
  calls: number
  answer_bytes: number
  running_ms: number
}

export function createBudget(): Budget {
  return { calls: 0, answer_bytes: 0, running_ms: 0 }
}

/** Counts a call. Throws `limit_reached` if the budget is used up. */
export function spend(budget: Budget): void {
  budget.calls += 1
  if (budget.calls > LIMITS.request_calls_max)
    throw used(`${LIMITS.request_calls_max} calls`, 'Make fewer calls in one request.')
  if (budget.answer_bytes >= LIMITS.request_answer_bytes_max)
    throw used(
      `${LIMITS.request_answer_bytes_max} bytes of answers`,
      'Make this call in another request, or ask for less with `limit`.',
    )
  if (budget.running_ms >= LIMITS.request_running_ms)
    throw used(`${LIMITS.request_running_ms} ms of running calls`, 'Make this call in another request.')
}

/** Adds the usage of a call without inner calls. */
export function charge(budget: Budget, answer: Json, running_ms: number): void {
  budget.answer_bytes += roughBytes(answer)
  budget.running_ms += running_ms
}

function used(what: string, hint: string): TurnbellError {
  return new TurnbellError('limit_reached', { detail: `This request has used up its ${what}.`, hint })
}
