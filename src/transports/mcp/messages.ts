/**
 * Parses JSON-RPC messages of clients into the types of the SDK. The SDK drops an invalid message without an answer, so
 * the client would wait until its timeout. Here `null` and `[]` count as absent if an object is expected, and an invalid
 * request is rejected under its id.
 */
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/server'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { isDeeper } from '../../contracts/validation/json.ts'
import {
  InexactNumberError,
  isExact,
  maybeInexact,
  walkNumbers,
} from '../../contracts/validation/json-numbers.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { exactId } from './exact-ids.ts'
import { fastPathCallIn, type FastPathCall } from './fast-path-call.ts'
import { isObject } from '../../contracts/validation/is-object.ts'

/** JSON-RPC 2.0, section 5.1. */
export const RPC_CODES = { parse_error: -32700, invalid_request: -32600, invalid_params: -32602 } as const

/** The only revision with batches. */
export const BATCHING_REVISION = '2025-03-26'

/** A response whose id may be null, for which the SDK has no type. */
export type Answer = { jsonrpc: '2.0'; id: RequestId | null } & (
  | { result: Record<string, unknown> }
  | { error: { code: number; message: string; data?: unknown } }
)

/** A request that is rejected before it reaches a server. */
export interface RefusedMessage {
  /** Null if the message has an id that JSON-RPC does not allow. */
  id: RequestId | null
  code: number
  error: TurnbellError
  /** Whether it calls a tool: the problem is then returned as the tool's result. */
  is_tool_call: boolean
}

export type ReadMessage =
  | { kind: 'message'; message: JSONRPCMessage }
  | { kind: 'refused'; refused: RefusedMessage }
  /** Not a request, so no answer is expected. */
  | { kind: 'dropped'; why: string }

export interface ReadText {
  is_batch: boolean
  messages: ReadMessage[]
}

/** `value` is the result of `JSON.parse(text)`. */
export function readMessages(text: string, value: unknown): ReadText {
  const is_batch = Array.isArray(value)
  const values: unknown[] = is_batch ? value : [value]
  const numbers = numbersIn(text, is_batch, values.some(hasUnsafeId))
  return { is_batch, messages: values.map((one, at) => readMessage(one, numbers[is_batch ? at : 0] ?? {})) }
}

/** Returns the plain call in the message; null if it is another message or parsing has lost precision. */
export function parseFastPathCall(text: string, value: unknown): FastPathCall | null {
  const call = fastPathCallIn(value)
  return call === null || maybeInexact(text) || isDeeper(value, LIMITS.wire_depth_max) ? null : call
}

/** Returns null if the batch is served. `revision`: the negotiated one; null before initialize. */
export function whyNoBatch(messages: readonly ReadMessage[], revision: string | null): string | null {
  if (revision !== BATCHING_REVISION) {
    const when = revision === null ? 'before initialize' : `in revision ${revision} of MCP`
    return `Batches are not supported ${when}.`
  }
  if (messages.length === 0) return 'The batch is empty.'
  if (messages.length > LIMITS.mcp_batch_max) return `A batch has at most ${LIMITS.mcp_batch_max} messages.`
  const begins = messages.some((read) => read.kind === 'message' && isInitialize(read.message))
  return begins ? 'initialize must not be part of a batch.' : null
}

export function isInitialize(message: JSONRPCMessage): boolean {
  return 'method' in message && message.method === 'initialize'
}

/** Returns a rejection for each request of a batch, under its id; one without an id if the batch has no requests. */
export function refuseBatch(messages: readonly ReadMessage[], why: string): RefusedMessage[] {
  const error = invalid(why, 'Send each message by itself.')
  const refused = (id: RequestId | null): RefusedMessage => {
    return { id, code: RPC_CODES.invalid_request, error, is_tool_call: false }
  }
  const each = messages.flatMap((read) => {
    if (read.kind === 'refused') return [refused(read.refused.id)]
    return read.kind === 'message' && isJSONRPCRequest(read.message) ? [refused(read.message.id)] : []
  })
  return each.length > 0 ? each : [refused(null)]
}

type Fields = Record<string, unknown>

/** Numbers of one message as source text, because the SDK's types cannot represent them. */
interface Numbers {
  id?: string
  request_id?: string
  progress_token?: string
  inexact?: InexactNumberError
}

const PLACES: Record<string, keyof Numbers> = {
  id: 'id',
  'params.requestId': 'request_id',
  'params._meta.progressToken': 'progress_token',
}

function numbersIn(text: string, is_batch: boolean, has_unsafe_id: boolean): Record<number, Numbers> {
  const found: Record<number, Numbers> = {}
  if (!has_unsafe_id && !maybeInexact(text)) return found
  const outer = is_batch ? 1 : 0
  walkNumbers(text, ({ source, depth, path }) => {
    const is_near = depth - outer <= 3
    const is_exact = isExact(source)
    if (!is_near && is_exact) return true
    const whole = path()
    const numbers = (found[is_batch ? Number(whole[0]) : 0] ??= {})
    const inner = whole.slice(outer)
    const place = Object.hasOwn(PLACES, inner.join('.')) ? PLACES[inner.join('.')] : undefined
    if (place !== undefined) Object.assign(numbers, { [place]: source })
    else if (!is_exact) numbers.inexact ??= new InexactNumberError({ path: inner, source })
    return true
  })
  return found
}

function hasUnsafeId(value: unknown): boolean {
  if (!isObject(value)) return false
  const params = isObject(value['params']) ? value['params'] : {}
  const meta = isObject(params['_meta']) ? params['_meta'] : {}
  return [value['id'], params['requestId'], meta['progressToken']].some(isUnsafe)
}

function isUnsafe(id: unknown): boolean {
  return typeof id === 'number' && !Number.isSafeInteger(id)
}

function readMessage(value: unknown, numbers: Numbers): ReadMessage {
  if (!isObject(value)) return dropped('it is not an object')
  const { method } = value
  // A response is never answered; otherwise two sides could reject each other's rejections forever.
  if (method === undefined && ('result' in value || 'error' in value)) return readResponse(value)
  const id = idIn(value, numbers)
  const refuse = (code: number, error: TurnbellError): ReadMessage => {
    if (id === undefined) return dropped(error.detail)
    return { kind: 'refused', refused: { id, code, error, is_tool_call: false } }
  }
  if (id === null) return refuse(RPC_CODES.invalid_request, invalid('The id is not a string or a number.'))
  if (typeof method !== 'string')
    return refuse(RPC_CODES.invalid_request, invalid('The method is not a string.'))
  if (value['jsonrpc'] !== '2.0') return refuse(RPC_CODES.invalid_request, invalid('jsonrpc is not "2.0".'))
  const params = paramsOf(value['params'], numbers)
  if (params === null) return refuse(RPC_CODES.invalid_params, invalid('The params are not an object.'))
  if (isDeeper(params, LIMITS.wire_depth_max)) {
    const detail = `The params are nested more than ${LIMITS.wire_depth_max} deep.`
    return refuse(RPC_CODES.invalid_params, new TurnbellError('params_invalid', { detail }))
  }
  if (numbers.inexact !== undefined && id !== undefined)
    return { kind: 'refused', refused: inexactCall(id, method, numbers.inexact) }
  const with_params = params === undefined ? {} : { params }
  const message = { jsonrpc: '2.0' as const, ...(id === undefined ? {} : { id }), method, ...with_params }
  if (isJSONRPCRequest(message) || isJSONRPCNotification(message)) return { kind: 'message', message }
  return refuse(RPC_CODES.invalid_params, invalid('The _meta of the params is not as MCP defines it.'))
}

function readResponse(value: Fields): ReadMessage {
  if (isDeeper(value, LIMITS.wire_depth_max)) return dropped('it is nested too deep')
  if (isJSONRPCResultResponse(value) || isJSONRPCErrorResponse(value))
    return { kind: 'message', message: value }
  return dropped('it is a response of another form than JSON-RPC 2.0')
}

/** Returns undefined for a notification, null for an invalid id. */
function idIn(value: Fields, numbers: Numbers): RequestId | null | undefined {
  if (!('id' in value)) return undefined
  const { id } = value
  if (typeof id !== 'string' && typeof id !== 'number') return null
  return isUnsafe(id) ? exactId(numbers.id ?? String(id)) : id
}

/** Returns undefined if there are none, null if they are invalid. */
function paramsOf(value: unknown, numbers: Numbers): Fields | null | undefined {
  if (isAbsent(value)) return undefined
  if (!isObject(value)) return null
  const params = { ...value }
  for (const name of ['_meta', 'arguments']) if (isAbsent(params[name])) delete params[name]
  const { _meta: meta, requestId: request_id } = params
  if (isUnsafe(request_id)) params['requestId'] = exactId(numbers.request_id ?? String(request_id))
  if (isObject(meta) && isUnsafe(meta['progressToken']))
    params['_meta'] = {
      ...meta,
      progressToken: exactId(numbers.progress_token ?? String(meta['progressToken'])),
    }
  return params
}

/** Some languages serialize an empty mapping as an empty list. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

function inexactCall(id: RequestId, method: string, inexact: InexactNumberError): RefusedMessage {
  const [, first, second] = inexact.path
  const prefix =
    first !== 'arguments' ? [] : second === 'params' ? ['params', first, second] : ['params', first]
  const error = new TurnbellError('params_invalid', { detail: inexact.below(prefix), cause: inexact })
  return { id, code: RPC_CODES.invalid_params, error, is_tool_call: method === 'tools/call' }
}

function invalid(detail: string, hint = 'Send one JSON-RPC 2.0 message as MCP defines it.'): TurnbellError {
  return new TurnbellError('request_invalid', { detail, hint })
}

function dropped(why: string): ReadMessage {
  return { kind: 'dropped', why }
}
