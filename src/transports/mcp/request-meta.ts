/** turnbell's keys in `_meta` of a request. Other keys are ignored; an invalid value of an own key is an error. */
import { McpDetail, type McpView } from '../../kernel/projections/project-mcp.ts'
import { narrower } from '../../kernel/policy.ts'
import { narrowingInMeta } from '../narrowing.ts'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { CallerContext } from '../../contracts/http.ts'

type Meta = Record<string, unknown> | undefined

/**
 * Returns the context of the connection, overridden by that of the request. Throws `request_invalid`, because a call with
 * an invalid scope would otherwise run in another project.
 */
export function callerContextIn(meta: Meta, context: CallerContext = {}): CallerContext {
  if (meta === undefined) return context
  const given: Record<string, unknown> = {}
  let any = false
  for (const name of CONTEXT) {
    const value = meta[name]
    if (value === undefined || value === null) continue
    given[name] = value
    any = true
  }
  if (!any) return context
  const parsed = CallerContext.safeParse(given)
  if (parsed.success) return { ...context, ...parsed.data }
  throw new TurnbellError('request_invalid', {
    detail: `_meta.${describeParams(CallerContext, given, parsed.error)}`,
    hint: 'Correct `_meta` of the request, or remove it.',
    cause: parsed.error,
  })
}

const CONTEXT = Object.keys(CallerContext.shape)

/** Returns the view of the connection, restricted by the bounds of the request. Throws `request_invalid`. */
export function viewIn(meta: Meta, view: McpView = {}): McpView {
  if (meta === undefined) return view
  const bounds = narrowingInMeta(meta)
  const detail = meta['detail'] === undefined ? undefined : McpDetail.safeParse(meta['detail']).data
  if (bounds === undefined && detail === undefined) return view
  return { detail: detail ?? view.detail, narrowing: narrower(view.narrowing ?? {}, bounds ?? {}) }
}
