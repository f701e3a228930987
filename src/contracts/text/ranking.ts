/** Ranking information in the response of a search. */
import * as z from 'zod'

export const RANKING = {
  /** True if only words were compared, because no model is available. */
  degraded: z.boolean(),
  degraded_reason: z.string().optional(),
}
