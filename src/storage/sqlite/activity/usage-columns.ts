/** The figures of usage: their columns, and what a query that sums them returns. */
import type { Usage } from '../../../contracts/activity/views.ts'

export const USAGE_COLUMNS = [
  ...(['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'cost_usd'] as const),
] as const

type Sums = { [Name in keyof Usage]?: number | string | null | undefined }

/** Converts sums, which PostgreSQL returns as text. Without rows they are null. */
export function usageOf(sums: Sums): Usage {
  return {
    input_tokens: Number(sums.input_tokens ?? 0),
    output_tokens: Number(sums.output_tokens ?? 0),
    cache_read_tokens: Number(sums.cache_read_tokens ?? 0),
    cache_write_tokens: Number(sums.cache_write_tokens ?? 0),
    cost_usd: sums.cost_usd == null ? null : Number(sums.cost_usd),
  }
}
