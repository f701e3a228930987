/** How a search was ranked, as its answer tells. */
import * as z from 'zod'

export const RANKING = {
  /** True where only words were compared, because there is no model to compare meanings by. */
  degraded: z.boolean(),
  degraded_reason: z.string().optional(),
}
