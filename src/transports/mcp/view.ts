/** How much of the tools a client asks to see, when it connects. */
import type { IncomingMessage } from 'node:http'
import { McpDetail, type McpView } from '../../kernel/project-mcp.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { narrowingInQuery, narrowingInRequest, queryOf } from '../narrowing.ts'

/** `?detail=`, and the bounds that the query and the headers set. Throws `request_invalid`. */
export function viewOf(request: Pick<IncomingMessage, 'url' | 'headers'>): McpView {
  const narrowing = narrowingInRequest(request)
  const query = queryOf(request.url)
  const detail = query === null ? undefined : detailIn(query)
  return { ...(detail === undefined ? {} : { detail }), ...(narrowing === undefined ? {} : { narrowing }) }
}

/** The same of an address without a request. */
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
      hint: 'Correct the query of the address, or leave `detail` out.',
    })
  }
  return known.data
}
