/**
 * Calls of the client's tools on their way to the hub, and drains on their way back: what a drain handed
 * over is confirmed or given back here, whichever way its answer went.
 */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { drainIn, type Drains, type OpenDrain } from './drains.ts'
import { inParts } from './drained-parts.ts'
import { ownMeta } from './own-meta.ts'
import { onceMore, sayable } from './repeats.ts'
import type { Answered } from './stdio-lines.ts'
import { AnswerLost, type Params, type Result, type Upstream } from './upstream.ts'
import { isDrain } from '../../contracts/drain.ts'
import { asFarAsCodexShows } from './codex-thread.ts'
import type { SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'

/** As long as the longest program that a call may run, and what an answer takes besides. */
export const CALL_MS = LIMITS.program_ms_max + LIMITS.bridge_answer_ms

export interface Asked {
  name: string
  args: Record<string, unknown>
}

/** Never copied: its signal may be made when it is asked for, and a copy would have none. */
export interface ToolCall extends Asked {
  /** What the client says about the call itself. */
  meta: Record<string, unknown>
  /** Aborted when the client gave the call up: nobody reads the answer. */
  readonly signal: AbortSignal
}

export interface ToolCallOptions {
  upstream: Upstream
  /**
   * The session of a call, under which the hub leases what is drained. Asked once, when the call leaves for the hub:
   * another may have another. Throws what the client may not do in it.
   */
  session_id: (call: ToolCall) => SessionId
  ids: Ids
  log: Log
  /** A drained payload that takes more bytes as JSON is handed over in parts. Absent for a client that shows the largest. */
  payload_bytes_shown?: number
  /** Answers a call without the hub; null passes it on. */
  answer?: (call: ToolCall) => Promise<CallToolResult | null>
  /** An answer given by `answer` is in the client's pipe. */
  answerWritten?: (call: ToolCall) => void
  /**
   * The drain's answer is in the client's pipe, and it is confirmed or given back later. Confirms it when absent: a
   * plain client gives no better sign that it has the bytes.
   */
  drainWritten?: (call: ToolCall, drain: OpenDrain) => void
}

export interface ToolCalls {
  call(request_id: string | number, call: ToolCall): Promise<CallToolResult>
  /** The answer to this request is in the client's pipe. */
  written(request_id: string | number, how: Answered): void
  /** Nor will it ever be. */
  unwritten(request_id: string | number): void
  /** Resolves once the hub has answered everything that it was asked so far, or could not. */
  settled(): Promise<void>
}

export function createToolCalls(options: ToolCallOptions, drains: Drains): ToolCalls {
  const { upstream, log } = options
  const under_way = new Set<Promise<unknown>>()
  /** What must happen once the answer to a request has left. */
  const afterwards = new Map<string | number, (how: Answered) => void>()

  /** An id that is used anew before its answer has left: what becomes of that will not be heard. */
  function after(request_id: string | number, then: (how: Answered) => void): void {
    afterwards.get(request_id)?.('error')
    afterwards.set(request_id, then)
  }

  /** A drain ends in one of three ways: its answer is written, an error in its place, or the client gave the call up. */
  function watch(request_id: string | number, call: ToolCall, session_id: SessionId, drain: OpenDrain): void {
    drains.handed(session_id, drain)
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
    after(request_id, (how) => {
      call.signal.removeEventListener('abort', givenUp)
      if (how === 'error') return goBack('the client was not told of the drain, or of an error in its place')
      if (options.drainWritten === undefined) return drains.confirm(drain.drain_id)
      drains.written(drain.drain_id)
      options.drainWritten(call, drain)
    })
  }

  async function answerOf(request_id: string | number, call: ToolCall): Promise<CallToolResult> {
    const own = await options.answer?.(call)
    if (own === null || own === undefined) {
      call.signal.throwIfAborted()
      return ask(request_id, call)
    }
    after(request_id, (how) => {
      if (how === 'result') options.answerWritten?.(call)
    })
    return own
  }

  function ask(request_id: string | number, call: ToolCall): Promise<CallToolResult> {
    const asked = asFarAsCodexShows(call)
    const { name } = asked
    const session_id = options.session_id(call)
    const takes = isDrain(name, asked.args)
    const { args, repeatable } = sayable(asked, options.ids)
    const params: Params = { name, arguments: args, _meta: ownMeta(call.meta) }
    const answer_ms = takes ? LIMITS.bridge_answer_ms : CALL_MS
    const request = () => {
      const how = { abort: call.signal, session_id, answer_ms }
      return upstream.request('tools/call', params, { ...how, repeatable }).catch((error: unknown) => {
        if (takes || repeatable || !(error instanceof AnswerLost)) throw error
        log.debug({ name }, 'the hub went away before it answered')
        return onceMore(upstream, params, how, error)
      })
    }
    /** Before anybody hears of the answer: the next drain goes by what is known of this one. */
    const handOver = (told: Result) => {
      const result =
        options.payload_bytes_shown === undefined ? told : inParts(told, options.payload_bytes_shown)
      const drain = drainIn(result)
      if (drain !== null) watch(request_id, call, session_id, drain)
      return result as CallToolResult
    }
    const done = takes
      ? drains.take(session_id, () => request().then(handOver))
      : (upstream.callHere(params, session_id) ?? request()).then(handOver)
    under_way.add(done)
    const ended = () => void under_way.delete(done)
    done.then(ended, ended)
    return done
  }

  function written(request_id: string | number, how: Answered): void {
    const then = afterwards.get(request_id)
    afterwards.delete(request_id)
    then?.(how)
  }

  return {
    call: options.answer === undefined ? ask : answerOf,
    written,
    unwritten: (request_id) => written(request_id, 'error'),
    async settled() {
      await Promise.allSettled(under_way)
    },
  }
}
