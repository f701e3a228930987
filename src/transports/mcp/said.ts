/**
 * What a request says of itself in `_meta`, as far as it is ours. `_meta` belongs to everybody, so what has
 * another form is left alone; only bounds may not be misunderstood.
 */
import type { z } from 'zod'
import { McpDetail, type McpView } from '../../kernel/project-mcp.ts'
import { narrower } from '../../kernel/policy.ts'
import { narrowingInMeta } from '../narrowing.ts'
import { CallerContext } from '../../contracts/http.ts'

type Meta = Record<string, unknown> | undefined

export function callerContextIn(meta: Meta): CallerContext {
  const said: Record<string, unknown> = {}
  if (meta === undefined) return said
  for (const [name, form] of CONTEXT_FORMS) {
    const value = meta[name]
    if (value !== undefined && form.safeParse(value).success) said[name] = value
  }
  return said
}

const CONTEXT_FORMS: readonly [string, z.ZodType][] = Object.entries(CallerContext.shape)

/** What the connection asked to see, and what this request says of it besides. Throws `request_invalid`. */
export function viewIn(meta: Meta, view: McpView = {}): McpView {
  if (meta === undefined) return view
  const bounds = narrowingInMeta(meta)
  const detail = meta['detail'] === undefined ? undefined : McpDetail.safeParse(meta['detail']).data
  if (bounds === undefined && detail === undefined) return view
  return { detail: detail ?? view.detail, narrowing: narrower(view.narrowing ?? {}, bounds ?? {}) }
}
