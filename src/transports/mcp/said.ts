/**
 * What a request says of itself in `_meta`, as far as it is ours. `_meta` belongs to everybody, so what is not
 * ours is left alone; what is may not be misunderstood.
 */
import { McpDetail, type McpView } from '../../kernel/project-mcp.ts'
import { narrower } from '../../kernel/policy.ts'
import { narrowingInMeta } from '../narrowing.ts'
import { describeParams } from '../../contracts/describe.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { CallerContext } from '../../contracts/http.ts'

type Meta = Record<string, unknown> | undefined

/**
 * What the connection said, and what this request says of it instead. Throws `request_invalid`: a scope that is
 * none would leave the call in another project than was meant.
 */
export function callerContextIn(meta: Meta, context: CallerContext = {}): CallerContext {
  if (meta === undefined) return context
  const said: Record<string, unknown> = {}
  let any = false
  for (const name of CONTEXT) {
    const value = meta[name]
    if (value === undefined || value === null) continue
    said[name] = value
    any = true
  }
  if (!any) return context
  const parsed = CallerContext.safeParse(said)
  if (parsed.success) return { ...context, ...parsed.data }
  throw new TurnbellError('request_invalid', {
    detail: `_meta.${describeParams(CallerContext, said, parsed.error)}`,
    hint: 'Correct `_meta` of the request, or leave it out.',
    cause: parsed.error,
  })
}

const CONTEXT = Object.keys(CallerContext.shape)

/** What the connection asked to see, and what this request says of it besides. Throws `request_invalid`. */
export function viewIn(meta: Meta, view: McpView = {}): McpView {
  if (meta === undefined) return view
  const bounds = narrowingInMeta(meta)
  const detail = meta['detail'] === undefined ? undefined : McpDetail.safeParse(meta['detail']).data
  if (bounds === undefined && detail === undefined) return view
  return { detail: detail ?? view.detail, narrowing: narrower(view.narrowing ?? {}, bounds ?? {}) }
}
