/** Where a request says in its headers that it comes from. */
import type { IncomingHttpHeaders } from 'node:http'
import { parsed } from './parsed.ts'
import { CallerContext } from '../../contracts/http.ts'

/** `X-Agent-Id`, `X-Run-Id`, `X-Parent-Call-Id` and `X-Scope`. Throws `request_invalid`. */
export function contextInHeaders(headers: IncomingHttpHeaders): CallerContext {
  const told = {
    agent_id: headers['x-agent-id'],
    run_id: headers['x-run-id'],
    parent_call_id: headers['x-parent-call-id'],
    scope: headers['x-scope'],
  }
  const said = Object.entries(told).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value : textOf(value)]],
  )
  return parsed(CallerContext, Object.fromEntries(said), 'headers')
}

/** Node takes a header's bytes for characters; a path is sent in UTF-8, unless it is none. */
function textOf(header: string): string {
  const text = Buffer.from(header, 'latin1').toString()
  return text.includes('\ufffd') ? header : text
}
