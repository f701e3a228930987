/**
 * Which messages are a tool call beyond doubt: every field in the form that the specification gives it, and
 * none that asks for more than a call and its answer. Only such a call is answered without the SDK, which
 * holds each message against all the forms that there are; that costs several times what most calls do.
 * What is not beyond doubt is no mistake: the SDK judges it.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
} from '@modelcontextprotocol/server'

export const REVISION = '2026-07-28'

export interface PlainCall {
  id: RequestId
  name: string
  args: Record<string, unknown> | undefined
  meta: Record<string, unknown> | undefined
  /** Whether it carries the envelope of 2026-07-28. What is in it was not looked at: see `Envelopes`. */
  modern: boolean
}

/** Null for all that is not beyond doubt. */
export function plainCallIn(message: unknown): PlainCall | null {
  if (!isObject(message) || !hasOnly(message, MESSAGE_FIELDS)) return null
  const { jsonrpc, id, method, params } = message
  if (jsonrpc !== '2.0' || method !== 'tools/call' || !isName(id)) return null
  if (!isObject(params) || !hasOnly(params, PARAMS_FIELDS)) return null
  const { name, arguments: args, _meta: meta } = params
  if (typeof name !== 'string' || !isOwnObject(args) || !isOwnObject(meta)) return null
  const modern = meta !== undefined && PROTOCOL_VERSION_META_KEY in meta
  if (meta !== undefined && !isPlainMeta(meta, modern)) return null
  return { id, name, args, meta, modern }
}

const MESSAGE_FIELDS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params'])
const PARAMS_FIELDS: ReadonlySet<string> = new Set(['name', 'arguments', '_meta'])
const ENVELOPE: ReadonlySet<string> = new Set([
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
])
const RESERVED = 'io.modelcontextprotocol/'

/** A token for progress asks for nothing: no tool that is called plainly tells how far it is. */
function isPlainMeta(meta: Record<string, unknown>, modern: boolean): boolean {
  for (const key in meta) {
    if (key === 'progressToken' && !isName(meta[key])) return false
    if (key.startsWith(RESERVED) && !(modern && ENVELOPE.has(key))) return false
  }
  return !modern || meta[PROTOCOL_VERSION_META_KEY] === REVISION
}

/** Of a request, or a token for its progress. */
function isName(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Absent, or an object without the one key that schemas leave out. */
function isOwnObject(value: unknown): value is Record<string, unknown> | undefined {
  return value === undefined || (isObject(value) && !Object.hasOwn(value, '__proto__'))
}

function hasOnly(value: object, fields: ReadonlySet<string>): boolean {
  for (const key in value) if (!fields.has(key)) return false
  return true
}
