/** Limit for the data of events that agents write; the event log holds thousands of events in memory. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

/** Throws `params_invalid`. */
export function checkEventData(data: Json | undefined): void {
  if (data === undefined) return
  const bytes = Buffer.byteLength(JSON.stringify(data))
  if (bytes <= LIMITS.event_data_bytes_max) return
  throw new TurnbellError('params_invalid', {
    detail: `data: ${bytes} bytes as JSON; an event carries at most ${LIMITS.event_data_bytes_max}`,
    hint: 'Write the content to a file or to shared memory, and log its location.',
  })
}
