/** Origin of a request, as its headers name it. */
import type { IncomingHttpHeaders } from 'node:http'
import { parsed } from './parsed.ts'
import { CallerContext } from '../../contracts/http.ts'

/** `X-Agent-Id`, `X-Run-Id`, `X-Parent-Call-Id` and `X-Scope`. Throws `request_invalid`. */
export function contextInHeaders(headers: IncomingHttpHeaders): CallerContext {
  const headers_by_name = {
    agent_id: headers['x-agent-id'],
    run_id: headers['x-run-id'],
    parent_call_id: headers['x-parent-call-id'],
    scope: headers['x-scope'],
  }
  const given = Object.entries(headers_by_name).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value : textOf(value)]],
  )
  return parsed(CallerContext, Object.fromEntries(given), 'headers')
}

/** Node.js decodes headers as latin1. A path is sent as UTF-8; a header that is not valid UTF-8 stays as it is. */
function textOf(header: string): string {
  const text = Buffer.from(header, 'latin1').toString()
  return text.includes('\ufffd') ? header : text
}
