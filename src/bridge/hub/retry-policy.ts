/** Decides which calls may be repeated when the hub went away before it answered. */
import type { ToolRequest } from '../tool-call.ts'
import type { AnswerLost, Params, Result } from './answers.ts'
import type { RequestOptions, Upstream } from './upstream.ts'
import { resolveCall, isQueueCall, isDrain } from '../../contracts/drain-calls.ts'
import { parseExactJsonOrNull } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Ids } from '../../ports/random.ts'

/**
 * Makes a call repeatable where possible: a send gets an idempotency key, and some actions change nothing the
 * second time. A drain is not repeatable; `drains.ts` handles it.
 */
export function withIdempotencyKey(
  call: ToolRequest,
  ids: Ids,
): { args: Record<string, unknown>; repeatable: boolean } {
  if (call.name !== 'signals' || (call.args['action'] !== 'send' && call.args['action'] !== 'broadcast'))
    return { args: call.args, repeatable: isRepeatable(call) }
  const { action, params, ...rest } = call.args
  // Models omit the nesting or pass the parameters as text. The hub accepts both, so both get a key.
  const given =
    params === undefined ? rest : typeof params === 'string' ? parseExactJsonOrNull(params) : params
  if (typeof given !== 'object' || given === null) return { args: call.args, repeatable: false }
  return { args: { action, params: { idempotency_key: `bridge:${ids.next()}`, ...given } }, repeatable: true }
}

/**
 * Signals that were released or replayed may have been drained since, so those actions are not repeated. A
 * second ack changes nothing, and its reply has an idempotency key.
 */
const REPEATABLE: ReadonlySet<string> = new Set(['signals_inbox', 'signals_read', 'signals_ack'])

function isRepeatable({ name, args }: ToolRequest): boolean {
  return REPEATABLE.has(resolveCall(name, args).name) || (isQueueCall(name, args) && !isDrain(name, args))
}

/**
 * Repeats a call that only reads. The hub is asked whether the action is read-only only when that matters.
 * Throws `lost` for any other action, and for a call that has already run for `bridge_answer_ms`.
 */
export async function retryIfReadOnly(
  upstream: Pick<Upstream, 'request'>,
  params: Params,
  options: Omit<RequestOptions, 'repeatable'>,
  lost: AnswerLost,
): Promise<Result> {
  if (lost.waited_ms >= LIMITS.bridge_answer_ms) throw lost
  const request = resolveCall(String(params['name']), params['arguments'])
  const { action } = request.params
  const name = typeof action === 'string' ? `${request.name}_${action}` : request.name
  const about: Params = { name: 'tool_describe', arguments: { name }, _meta: params['_meta'] }
  const how = { ...options, repeatable: true }
  const shortly = { ...how, answer_ms: LIMITS.bridge_answer_ms }
  const described = await upstream.request('tools/call', about, shortly).catch(() => null)
  const action_info = described?.['structuredContent'] as { mutates?: unknown } | undefined
  if (action_info?.mutates !== false) throw lost
  // The call has already been waited for, and a client's patience is limited.
  return upstream.request('tools/call', params, { ...how, wait_ms: 0 })
}
