/**
 * Calls of the client's tools on their way to the hub, and drains on their way back: what a drain handed
 * over is confirmed or given back here, whichever way its answer went.
 */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { drainIn, type Drains, type OpenDrain } from './drains.ts'
import { ownMeta } from './own-meta.ts'
import { AnswerLost, type Params, type Result, type Upstream } from './upstream.ts'
import { askedFor, asksForQueue, isDrain } from '../../contracts/drain.ts'
import type { SessionId } from '../../contracts/ids.ts'
import { jsonIn } from '../../contracts/json.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'

export interface ToolCall {
  name: string
  args: Record<string, unknown>
  /** What the client says about the call itself. */
  meta: Record<string, unknown>
  /** Aborted when the client gave the call up: nobody reads the answer. */
  signal: AbortSignal
}

export interface ToolCallOptions {
  upstream: Upstream
  /** The session under which the hub leases what is drained. */
  session_id: () => SessionId
  ids: Ids
  log: Log
  /** Answers a call without the hub; null passes it on. */
  answer?: (call: ToolCall) => Promise<CallToolResult | null>
  /** An answer given by `answer` is in the client's pipe. */
  answerWritten?: (call: ToolCall) => void
  /**
   * The drain's answer is in the client's pipe. Confirms it when absent: a plain client gives no better
   * sign that it has the bytes.
   */
  drainWritten?: (call: ToolCall, drain: OpenDrain) => void
}

export interface ToolCalls {
  call(request_id: string | number, call: ToolCall): Promise<CallToolResult>
  /** The answer to this request is in the client's pipe. */
  written(request_id: string | number): void
}

export function createToolCalls(options: ToolCallOptions, drains: Drains): ToolCalls {
  const { upstream, log } = options
  /** What must happen once the answer to a request has left. */
  const afterwards = new Map<string | number, () => void>()

  /** A drain ends in one of two ways: its answer is written, or the client gave the call up. */
  function watch(request_id: string | number, call: ToolCall, drain: OpenDrain): void {
    drains.handed(drain)
    const givenUp = () => {
      afterwards.delete(request_id)
      log.warn({ drain_id: drain.drain_id }, 'the client gave the drain up; its signals go back')
      drains.release(drain.signal_ids)
    }
    if (call.signal.aborted) return givenUp()
    call.signal.addEventListener('abort', givenUp, { once: true })
    afterwards.set(request_id, () => {
      call.signal.removeEventListener('abort', givenUp)
      if (options.drainWritten === undefined) drains.confirm(drain.drain_id)
      else options.drainWritten(call, drain)
    })
  }

  async function answerOf(request_id: string | number, call: ToolCall): Promise<CallToolResult> {
    const own = await options.answer?.(call)
    if (own === null || own === undefined) {
      call.signal.throwIfAborted()
      return ask(request_id, call)
    }
    afterwards.set(request_id, () => options.answerWritten?.(call))
    return own
  }

  function ask(request_id: string | number, call: ToolCall): Promise<CallToolResult> {
    const takes = isDrain(call.name, call.args)
    const { args, repeatable } = sayable(call, options.ids)
    const params: Params = { name: call.name, arguments: args, _meta: ownMeta(call.meta) }
    // Cut off on its way, a drain's answer would be lost while the hub believes that we have it.
    const request = () =>
      upstream
        .request('tools/call', params, { repeatable, abort: call.signal, carry_through: takes })
        .catch((error: unknown) => {
          if (takes || !(error instanceof AnswerLost)) throw error
          return onceMore(call, params, error)
        })
    const result = takes
      ? drains.take(options.session_id(), request)
      : (upstream.callHere(params) ?? request())
    return result.then((result) => {
      const drain = drainIn(result)
      if (drain !== null) watch(request_id, call, drain)
      return result as CallToolResult
    })
  }

  /** Nothing tells beforehand what only reads, so the hub is asked once it matters. */
  async function onceMore(call: ToolCall, params: Params, lost: AnswerLost): Promise<Result> {
    const asked = askedFor(call.name, call.args)
    const { action } = asked.params
    const name = typeof action === 'string' ? `${asked.name}_${action}` : asked.name
    const about: Params = { name: 'tool_describe', arguments: { name }, _meta: params['_meta'] }
    const how = { repeatable: true, abort: call.signal }
    const described = await upstream.request('tools/call', about, how).catch(() => null)
    const told = described?.['structuredContent'] as { mutates?: unknown } | undefined
    if (told?.mutates !== false) throw lost
    log.debug({ name }, 'the hub went away before it answered; what only reads is asked once more')
    // It has been waited for already, and a client waits only so long.
    return upstream.request('tools/call', params, { ...how, wait_ms: 0 })
  }

  return {
    call: options.answer === undefined ? ask : answerOf,
    written(request_id) {
      const then = afterwards.get(request_id)
      afterwards.delete(request_id)
      then?.()
    },
  }
}

/**
 * What may be said twice to a hub that died in between: a send once it has a key of its own, and what is
 * known to change nothing the second time. A drain may not: see where it is asked for.
 */
function sayable(call: ToolCall, ids: Ids): { args: Record<string, unknown>; repeatable: boolean } {
  if (call.name !== 'signals' || (call.args['action'] !== 'send' && call.args['action'] !== 'broadcast'))
    return { args: call.args, repeatable: isHarmlessTwice(call) }
  const { action, params, ...rest } = call.args
  // Models forget the nesting, or write it as text; the hub understands both, so both get a key.
  const given = params === undefined ? rest : typeof params === 'string' ? jsonIn(params) : params
  if (typeof given !== 'object' || given === null) return { args: call.args, repeatable: false }
  return { args: { action, params: { idempotency_key: `bridge:${ids.next()}`, ...given } }, repeatable: true }
}

/**
 * What was given back or put back may have been drained since, so neither is said again. What is handled
 * stays handled, and its reply has a key.
 */
const HARMLESS_TWICE: ReadonlySet<string> = new Set(['signals_inbox', 'signals_read', 'signals_ack'])

function isHarmlessTwice({ name, args }: ToolCall): boolean {
  return HARMLESS_TWICE.has(askedFor(name, args).name) || (asksForQueue(name, args) && !isDrain(name, args))
}
