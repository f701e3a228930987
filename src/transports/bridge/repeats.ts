/** What may be said twice to a hub that went away before it answered. */
import type { Asked } from './tool-calls.ts'
import type { AnswerLost, Params, RequestOptions, Result, Upstream } from './upstream.ts'
import { askedFor, asksForQueue, isDrain } from '../../contracts/drain.ts'
import { exactJsonIn } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Ids } from '../../ports/random.ts'

/**
 * What may be said twice to a hub that died in between: a send once it has a key of its own, and what is
 * known to change nothing the second time. A drain may not: see where it is asked for.
 */
export function sayable(call: Asked, ids: Ids): { args: Record<string, unknown>; repeatable: boolean } {
  if (call.name !== 'signals' || (call.args['action'] !== 'send' && call.args['action'] !== 'broadcast'))
    return { args: call.args, repeatable: isHarmlessTwice(call) }
  const { action, params, ...rest } = call.args
  // Models forget the nesting, or write it as text; the hub understands both, so both get a key.
  const given = params === undefined ? rest : typeof params === 'string' ? exactJsonIn(params) : params
  if (typeof given !== 'object' || given === null) return { args: call.args, repeatable: false }
  return { args: { action, params: { idempotency_key: `bridge:${ids.next()}`, ...given } }, repeatable: true }
}

/**
 * What was given back or put back may have been drained since, so neither is said again. What is handled
 * stays handled, and its reply has a key.
 */
const HARMLESS_TWICE: ReadonlySet<string> = new Set(['signals_inbox', 'signals_read', 'signals_ack'])

function isHarmlessTwice({ name, args }: Asked): boolean {
  return HARMLESS_TWICE.has(askedFor(name, args).name) || (asksForQueue(name, args) && !isDrain(name, args))
}

/**
 * Asks again for what only reads. Nothing tells that beforehand, so the hub is asked once it matters. Throws
 * `lost` for anything else, and for what has run for so long that nobody waits for it twice.
 */
export async function onceMore(
  upstream: Pick<Upstream, 'request'>,
  params: Params,
  asking: Omit<RequestOptions, 'repeatable'>,
  lost: AnswerLost,
): Promise<Result> {
  if (lost.waited_ms >= LIMITS.bridge_answer_ms) throw lost
  const asked = askedFor(String(params['name']), params['arguments'])
  const { action } = asked.params
  const name = typeof action === 'string' ? `${asked.name}_${action}` : asked.name
  const about: Params = { name: 'tool_describe', arguments: { name }, _meta: params['_meta'] }
  const how = { ...asking, repeatable: true }
  const shortly = { ...how, answer_ms: LIMITS.bridge_answer_ms }
  const described = await upstream.request('tools/call', about, shortly).catch(() => null)
  const told = described?.['structuredContent'] as { mutates?: unknown } | undefined
  if (told?.mutates !== false) throw lost
  // It has been waited for already, and a client waits only so long.
  return upstream.request('tools/call', params, { ...how, wait_ms: 0 })
}
