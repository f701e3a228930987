/** Returns all records that match a query, page by page. */
import type { KeptRecord } from '../../contracts/memory/records.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { RecordQuery, Records } from './service.ts'
import type { RecordCall } from './record-location.ts'

export async function everyRecord(
  { query }: Pick<Records, 'query'>,
  call: RecordCall,
  wanted: Omit<RecordQuery, 'limit' | 'after'>,
): Promise<KeptRecord[]> {
  const found: KeptRecord[] = []
  for (let after: string | null | undefined; after !== null;) {
    const page = await query(call, {
      ...wanted,
      limit: LIMITS.records_page_max,
      ...(after === undefined ? {} : { after }),
    })
    found.push(...page.records)
    after = page.next
  }
  return found
}
