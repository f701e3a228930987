/** Several calls at once: `POST /batch` and `workflow batch` are the same thing behind different doors. */
import type { DispatchOutcome } from './define.ts'
import type { BatchAnswer, BatchRequest } from '../contracts/http.ts'

/** In parallel, answered in the order of the calls, each with its own error. `one` never rejects. */
export async function batched(
  calls: BatchRequest['calls'],
  one: (call: BatchRequest['calls'][number]) => Promise<DispatchOutcome>,
): Promise<BatchAnswer> {
  const outcomes = await Promise.all(calls.map(one))
  return {
    results: outcomes.map((outcome) =>
      outcome.ok
        ? { result: outcome.result, ...(outcome.note === undefined ? {} : { note: outcome.note }) }
        : { error: outcome.problem },
    ),
  }
}
