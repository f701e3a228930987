/**
 * Calls of the client's tools on their way to the hub, and drains on their way back: what a drain handed
 * over is confirmed or given back here, whichever way its answer went.
 */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { drainIn, type Drains, type OpenDrain } from './drains.ts'
import { ownMeta } from './own-meta.ts'
import { onceMore, sayable } from './repeats.ts'
import type { Answered } from './stdio-lines.ts'
import { AnswerLost, type Params, type Upstream } from './upstream.ts'
import { isDrain } from '../../contracts/drain.ts'
import type { SessionId } from '../../contracts/ids.ts'
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
  written(request_id: string | number, how: Answered): void
  /** Resolves once the hub has answered everything that it was asked so far, or could not. */
  settled(): Promise<void>
}

export function createToolCalls(options: ToolCallOptions, drains: Drains): ToolCalls {
  const { upstream, log } = options
  const under_way = new Set<Promise<unknown>>()
  /** What must happen once the answer to a request has left. */
  const afterwards = new Map<string | number, (how: Answered) => void>()

  /** A drain ends in one of three ways: its answer is written, an error in its place, or the client gave the call up. */
  function watch(request_id: string | number, call: ToolCall, drain: OpenDrain): void {
    drains.handed(drain)
    const goBack = (why: string) => {
      log.warn({ drain_id: drain.drain_id }, `${why}; its signals go back`)
      drains.release(drain.signal_ids)
    }
    const givenUp = () => {
      afterwards.delete(request_id)
      goBack('the client gave the drain up')
    }
    if (call.signal.aborted) return givenUp()
    call.signal.addEventListener('abort', givenUp, { once: true })
    afterwards.set(request_id, (how) => {
      call.signal.removeEventListener('abort', givenUp)
      if (how === 'error') goBack('the client was told of an error in place of the drain')
      else if (options.drainWritten === undefined) drains.confirm(drain.drain_id)
      else options.drainWritten(call, drain)
    })
  }

  async function answerOf(request_id: string | number, call: ToolCall): Promise<CallToolResult> {
    const own = await options.answer?.(call)
    if (own === null || own === undefined) {
      call.signal.throwIfAborted()
      return ask(request_id, call)
    }
    afterwards.set(request_id, (how) => {
      if (how === 'result') options.answerWritten?.(call)
    })
    return own
  }

  function ask(request_id: string | number, call: ToolCall): Promise<CallToolResult> {
    const takes = isDrain(call.name, call.args)
    const { args, repeatable } = sayable(call, options.ids)
    const params: Params = { name: call.name, arguments: args, _meta: ownMeta(call.meta) }
    const request = () =>
      upstream.request('tools/call', params, { repeatable, abort: call.signal }).catch((error: unknown) => {
        if (takes || repeatable || !(error instanceof AnswerLost)) throw error
        log.debug({ name: call.name }, 'the hub went away before it answered')
        return onceMore(upstream, call, params, error)
      })
    const result = takes
      ? drains.take(options.session_id(), request)
      : (upstream.callHere(params) ?? request())
    const done = result.then((result) => {
      const drain = drainIn(result)
      if (drain !== null) watch(request_id, call, drain)
      return result as CallToolResult
    })
    under_way.add(done)
    const ended = () => void under_way.delete(done)
    done.then(ended, ended)
    return done
  }

  return {
    call: options.answer === undefined ? ask : answerOf,
    written(request_id, how) {
      const then = afterwards.get(request_id)
      afterwards.delete(request_id)
      then?.(how)
    },
    async settled() {
      await Promise.allSettled(under_way)
    },
  }
}
