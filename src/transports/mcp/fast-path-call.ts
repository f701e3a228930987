/**
 * Recognises plain tool calls: every field is as the specification defines it, and no field requests more than a call and
 * its answer. Only such calls are answered without the SDK, whose validation against all message types costs several times
 * as much as most calls. All other messages are passed to the SDK.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
} from '@modelcontextprotocol/server'
import { isObject } from '../../contracts/validation/is-object.ts'

export const REVISION = '2026-07-28'

export interface FastPathCall {
  id: RequestId
  name: string
  args: Record<string, unknown> | undefined
  meta: Record<string, unknown> | undefined
  /** Whether it has the envelope of 2026-07-28, which is not validated here: see `Envelopes`. */
  modern: boolean
}

/** Returns null for every other message. */
export function fastPathCallIn(message: unknown): FastPathCall | null {
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

/** A progress token is accepted and has no effect, because tools on the fast path report no progress. */
function isPlainMeta(meta: Record<string, unknown>, modern: boolean): boolean {
  for (const key in meta) {
    if (key === 'progressToken' && !isName(meta[key])) return false
    if (key.startsWith(RESERVED) && !(modern && ENVELOPE.has(key))) return false
  }
  return !modern || meta[PROTOCOL_VERSION_META_KEY] === REVISION
}

/** A request id or a progress token. */
function isName(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

/** Absent, or an object without `__proto__`, which schemas drop. */
function isOwnObject(value: unknown): value is Record<string, unknown> | undefined {
  return value === undefined || (isObject(value) && !Object.hasOwn(value, '__proto__'))
}

function hasOnly(value: object, fields: ReadonlySet<string>): boolean {
  for (const key in value) if (!fields.has(key)) return false
  return true
}
