/** Level of detail and bounds of the tool list, as a client requests them when it connects. */
import type { IncomingMessage } from 'node:http'
import { McpDetail, type McpView } from '../../kernel/projections/project-mcp.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { narrowingInQuery, narrowingInRequest, queryOf } from '../narrowing.ts'

/** Reads `?detail=` and the bounds of the query and the headers. Throws `request_invalid`. */
export function viewOf(request: Pick<IncomingMessage, 'url' | 'headers'>): McpView {
  const narrowing = narrowingInRequest(request)
  const query = queryOf(request.url)
  const detail = query === null ? undefined : detailIn(query)
  return { ...(detail === undefined ? {} : { detail }), ...(narrowing === undefined ? {} : { narrowing }) }
}

/** Reads the view from a query without a request. Throws `request_invalid`. */
export function viewInQuery(query: URLSearchParams): McpView {
  const narrowing = narrowingInQuery(query)
  return { detail: detailIn(query), ...(narrowing === undefined ? {} : { narrowing }) }
}

function detailIn(query: URLSearchParams): McpDetail | undefined {
  const detail = query.get('detail')
  const known = McpDetail.safeParse(detail)
  if (detail !== null && !known.success) {
    throw new TurnbellError('request_invalid', {
      detail: `detail: expected one of ${McpDetail.options.join(', ')}, found ${JSON.stringify(detail)}`,
      hint: 'Correct the query of the address, or remove `detail`.',
    })
  }
  return known.data
}
