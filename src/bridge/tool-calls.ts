/**
 * Forwards tool calls of the client to the hub, and confirms or releases each drain depending on what
 * happened to its answer.
 */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Drains } from './drains.ts'
import { drainIn, type OpenDrain } from './lease-calls.ts'
import { truncatePayloads } from './drained-parts.ts'
import { ownMeta } from './own-meta.ts'
import { retryIfReadOnly, withIdempotencyKey } from './hub/retry-policy.ts'
import type { AnswerKind } from './stdio/stdio-lines.ts'
import { AnswerLost, type Params, type Result } from './hub/answers.ts'
import type { ToolCall } from './tool-call.ts'
import type { Upstream } from './hub/upstream.ts'
import { isDrain } from '../contracts/drain-calls.ts'
import { limitToCodexDisplay } from './codex-thread.ts'
import type { SessionId } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'

/** The longest run of a program plus the time for an answer. */
export const CALL_MS = LIMITS.program_ms_max + LIMITS.bridge_answer_ms

export interface ToolCallOptions {
  upstream: Upstream
  /**
   * Returns the session of a call, under which the hub leases drained signals. Called once, when the call is
   * sent. Throws if the client may not make the call in it.
   */
  session_id: (call: ToolCall) => SessionId
  ids: Ids
  log: Log
  /**
   * Size of one payload as JSON that the client displays; larger payloads are delivered in parts. Absent for
   * clients without such a limit.
   */
  payload_bytes_shown?: number
  /** Answers a call without the hub; null forwards it. */
  answer?: (call: ToolCall) => Promise<CallToolResult | null>
  /** Called when an answer of `answer` is in the client's pipe. */
  answerWritten?: (call: ToolCall) => void
  /**
   * Called when the drain's answer is in the client's pipe; it is confirmed or released later. If absent the
   * drain is confirmed at once, because the client gives no better sign that it has the answer.
   */
  drainWritten?: (call: ToolCall, drain: OpenDrain) => void
}

export interface ToolCalls {
  call(request_id: string | number, call: ToolCall): Promise<CallToolResult>
  /** The answer to this request is in the client's pipe. */
  written(request_id: string | number, how: AnswerKind): void
  /** The answer will never be in the client's pipe. */
  unwritten(request_id: string | number): void
  /** Resolves once every request so far was answered by the hub or failed. */
  settled(): Promise<void>
}

export function createToolCalls(options: ToolCallOptions, drains: Drains): ToolCalls {
  const { upstream, log } = options
  const under_way = new Set<Promise<unknown>>()
  const answers = createWrittenAnswers()

  /** Confirms or releases a drain: its answer is written, replaced by an error, or cancelled by the client. */
  function trackDrain(
    request_id: string | number,
    call: ToolCall,
    session_id: SessionId,
    drain: OpenDrain,
  ): void {
    drains.received(session_id, drain)
    const release = (why: string) => {
      log.warn({ drain_id: drain.drain_id }, `${why}; its signals are released`)
      drains.release(drain.signal_ids)
    }
    const onAbort = () => {
      answers.forget(request_id)
      release('the client cancelled the drain')
    }
    if (call.signal.aborted) return onAbort()
    call.signal.addEventListener('abort', onAbort, { once: true })
    answers.onWritten(request_id, (how) => {
      call.signal.removeEventListener('abort', onAbort)
      if (how === 'error') return release('the client received no answer to the drain, or an error')
      if (options.drainWritten === undefined) return drains.confirm(drain.drain_id)
      drains.written(drain.drain_id)
      options.drainWritten(call, drain)
    })
  }

  async function answerOrForward(request_id: string | number, call: ToolCall): Promise<CallToolResult> {
    const local = await options.answer?.(call)
    if (local === null || local === undefined) {
      call.signal.throwIfAborted()
      return forward(request_id, call)
    }
    answers.onWritten(request_id, (how) => {
      if (how === 'result') options.answerWritten?.(call)
    })
    return local
  }

  function forward(request_id: string | number, call: ToolCall): Promise<CallToolResult> {
    const session_id = options.session_id(call)
    const { params, is_drain, request } = prepare(call, session_id, options)
    /** Registers the drain before the answer is passed on, because the next drain depends on it. */
    const receive = (answer: Result) => {
      const result =
        options.payload_bytes_shown === undefined
          ? answer
          : truncatePayloads(answer, options.payload_bytes_shown)
      const drain = drainIn(result)
      if (drain !== null) trackDrain(request_id, call, session_id, drain)
      return result as CallToolResult
    }
    const done = is_drain
      ? drains.request(session_id, () => request().then(receive))
      : (upstream.callInProcess(params, session_id) ?? request()).then(receive)
    under_way.add(done)
    const ended = () => void under_way.delete(done)
    done.then(ended, ended)
    return done
  }

  return {
    call: options.answer === undefined ? forward : answerOrForward,
    written: answers.written,
    unwritten: (request_id) => answers.written(request_id, 'error'),
    async settled() {
      await Promise.allSettled(under_way)
    },
  }
}

/** Returns the request of a call, which is sent again if that is harmless and its answer was lost. */
function prepare(call: ToolCall, session_id: SessionId, { upstream, ids, log }: ToolCallOptions) {
  const limited = limitToCodexDisplay(call)
  const { name } = limited
  const is_drain = isDrain(name, limited.args)
  const { args, repeatable } = withIdempotencyKey(limited, ids)
  const params: Params = { name, arguments: args, _meta: ownMeta(call.meta) }
  const answer_ms = is_drain ? LIMITS.bridge_answer_ms : CALL_MS
  const request = () => {
    const how = { abort: call.signal, session_id, answer_ms }
    return upstream.request('tools/call', params, { ...how, repeatable }).catch((error: unknown) => {
      if (is_drain || repeatable || !(error instanceof AnswerLost)) throw error
      log.debug({ name }, 'the hub disconnected before it answered')
      return retryIfReadOnly(upstream, params, how, error)
    })
  }
  return { params, is_drain, request }
}

/** Listeners for the time at which the answer to a request is in the client's pipe, or is known not to be. */
function createWrittenAnswers() {
  const listeners = new Map<string | number, (how: AnswerKind) => void>()
  return {
    /** If an id is reused before its answer was written, the outcome of that answer is unknown. */
    onWritten: (request_id: string | number, then: (how: AnswerKind) => void) => {
      listeners.get(request_id)?.('error')
      listeners.set(request_id, then)
    },
    written: (request_id: string | number, how: AnswerKind) => {
      const then = listeners.get(request_id)
      listeners.delete(request_id)
      then?.(how)
    },
    forget: (request_id: string | number) => void listeners.delete(request_id),
  }
}
