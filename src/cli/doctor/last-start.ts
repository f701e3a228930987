/** The reason of a refused start, from the end of the log. */
import * as z from 'zod'
import { parseJsonAs } from '../../contracts/validation/json.ts'
import { tail } from '../service/logs.ts'

const Refused = z.object({
  msg: z.string().regex(/^the (hub|daemon) does not start$/),
  err: z.object({ code: z.string(), detail: z.string(), hint: z.string().optional() }),
})

/** Returns null if the last start succeeded, or ended because another process was running already. */
export function refusedStart(log: string): { detail: string; hint: string } | null {
  const last = parseJsonAs(Refused, lastLine(log))
  if (last === null || last.err.code === 'already_running') return null
  const { detail, hint } = last.err
  return { detail: `the last start was refused: ${detail}`, hint: hint ?? `Read ${log}.` }
}

function lastLine(log: string): string | null {
  try {
    return tail(log, 1)[0] ?? null
  } catch {
    // Without a readable log, the finding is reported without a reason.
    return null
  }
}
