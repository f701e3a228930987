/** How much of the tools a client asks to see, when it connects. */
import type { IncomingMessage } from 'node:http'
import { McpDetail, type McpView } from '../../kernel/project-mcp.ts'
import { narrower } from '../../kernel/policy.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { narrowingInHeaders, narrowingInQuery } from '../narrowing.ts'

/** `?detail=`, and the bounds that the query and the headers set. Throws `request_invalid`. */
export function viewOf({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>): McpView {
  const said = narrowingInHeaders(headers)
  const at = url.indexOf('?')
  const asked = at < 0 ? {} : viewInQuery(new URLSearchParams(url.slice(at)))
  if (said === undefined) return asked
  return {
    ...asked,
    narrowing: asked.narrowing === undefined ? said : narrower(asked.narrowing, said),
  }
}

export function viewInQuery(query: URLSearchParams): McpView {
  const detail = query.get('detail')
  const known = McpDetail.safeParse(detail)
  if (detail !== null && !known.success) {
    throw new TurnbellError('request_invalid', {
      detail: `detail: expected one of ${McpDetail.options.join(', ')}, found ${JSON.stringify(detail)}`,
      hint: 'Correct the query of the address, or leave `detail` out.',
    })
  }
  const narrowing = narrowingInQuery(query)
  return { detail: known.data, ...(narrowing === undefined ? {} : { narrowing }) }
}
