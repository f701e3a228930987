/** Runs several calls of one request. Used by `POST /batch` and by `workflow batch`. */
import type { DispatchOutcome } from './define.ts'
import type { BatchAnswer, BatchRequest } from '../contracts/http.ts'
import { LIMITS } from '../contracts/limits/limits.ts'

/**
 * Runs up to `batch_running_max` calls at a time. Returns results in the order of the calls; a failed call has its error
 * instead. `one` must not reject.
 */
export async function batched(
  calls: BatchRequest['calls'],
  one: (call: BatchRequest['calls'][number]) => Promise<DispatchOutcome>,
): Promise<BatchAnswer> {
  const outcomes: DispatchOutcome[] = []
  let next = 0
  const run = async () => {
    for (let at = next++; at < calls.length; at = next++)
      outcomes[at] = await one(calls[at] as BatchRequest['calls'][number])
  }
  await Promise.all(Array.from({ length: Math.min(calls.length, LIMITS.batch_running_max) }, run))
  return {
    results: outcomes.map((outcome) =>
      outcome.ok
        ? { result: outcome.result, ...(outcome.note === undefined ? {} : { note: outcome.note }) }
        : { error: outcome.problem },
    ),
  }
}
