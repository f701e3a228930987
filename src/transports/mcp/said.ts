/** What a request says of itself in `_meta`, as far as it is ours. */
import type { z } from 'zod'
import { McpDetail, type McpView } from '../../kernel/project-mcp.ts'
import { narrower } from '../../kernel/policy.ts'
import { CallerContext, Narrowing } from '../../contracts/http.ts'

type Meta = Record<string, unknown> | undefined

export function callerContextIn(meta: Meta): CallerContext {
  return saidIn(meta, ContextForms) ?? {}
}

/** What the connection asked to see, and what this request says of it besides. */
export function viewIn(meta: Meta, view: McpView = {}): McpView {
  const said = saidIn(meta, ViewForms)
  if (said === undefined) return view
  const { detail = view.detail, ...bounds } = said
  return { detail, narrowing: narrower(view.narrowing ?? {}, bounds) }
}

interface Forms<S extends z.ZodRawShape> {
  fields: readonly [string, z.ZodType][]
  /** Only for its type. */
  schema: z.ZodObject<S>
}

function formsOf<S extends z.ZodRawShape>(schema: z.ZodObject<S>): Forms<S> {
  return { schema, fields: Object.entries(schema.shape) as unknown as [string, z.ZodType][] }
}

const ContextForms = formsOf(CallerContext)
const ViewForms = formsOf(Narrowing.extend({ detail: McpDetail.optional() }))

/** `_meta` belongs to everybody, so what is not ours or has another form is left alone. */
function saidIn<S extends z.ZodRawShape>(
  meta: Meta,
  { fields }: Forms<S>,
): Partial<z.infer<z.ZodObject<S>>> | undefined {
  if (meta === undefined) return undefined
  let said: Record<string, unknown> | undefined
  for (const [name, form] of fields) {
    const value = meta[name]
    if (value !== undefined && form.safeParse(value).success) (said ??= {})[name] = value
  }
  return said as Partial<z.infer<z.ZodObject<S>>> | undefined
}
