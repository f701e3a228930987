/** What a process that is not there said last: its log ends with why it did not start. */
import * as z from 'zod'
import { jsonAs } from '../../contracts/json.ts'
import { tail } from '../service/logs.ts'

const Refused = z.object({
  msg: z.string().regex(/^the (hub|daemon) does not start$/),
  err: z.object({ code: z.string(), detail: z.string(), hint: z.string().optional() }),
})

/** Null where it did start, or where another was in its place. */
export function refusedStart(log: string): { detail: string; hint: string } | null {
  const last = jsonAs(Refused, lastLine(log))
  if (last === null || last.err.code === 'already_running') return null
  const { detail, hint } = last.err
  return { detail: `the last start was refused: ${detail}`, hint: hint ?? `See ${log}.` }
}

function lastLine(log: string): string | null {
  try {
    return tail(log, 1)[0] ?? null
  } catch {
    // That a log cannot be read is no reason to say nothing of all the rest.
    return null
  }
}
