/** Calls of the hub by which drains are confirmed and released, and the drain in a tool's result. */
import * as z from 'zod'
import { unreachable } from './hub/answers.ts'
import type { Upstream } from './hub/upstream.ts'
import { DRAIN_TOOL } from '../contracts/drain-calls.ts'
import { describeIssues, fromProblem, Problem } from '../contracts/errors/errors.ts'
import type { DrainId, SessionId, SignalId } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import { DrainResult } from '../contracts/signal.ts'

export interface OpenDrain {
  drain_id: DrainId
  signal_ids: SignalId[]
}

/** Each call rejects with the hub's refusal, or with `hub_unreachable`. */
export interface LeaseCalls {
  confirm(session_id: SessionId | undefined, drain_id: DrainId): Promise<unknown>
  release(session_id: SessionId, signal_ids: readonly SignalId[]): Promise<unknown>
  /**
   * Releases what is leased to the session under drains that are not known here. Resolves with the number of signals.
   * `wait_ms` is the time to wait for a hub that is away.
   */
  releaseUnknown(
    session_id: SessionId,
    isKnown: (drain_id: DrainId) => boolean,
    wait_ms: number,
  ): Promise<number>
}

const ToolAnswer = z.object({ isError: z.boolean().optional(), structuredContent: z.unknown().optional() })
const Leased = z.object({
  signals: z.array(z.object({ signal_id: z.string(), drain_id: z.string().optional() })),
  /** Absent from older hubs, which list everything at once. */
  next: z.number().nullish(),
})

export function createLeaseCalls(upstream: Pick<Upstream, 'request'>): LeaseCalls {
  async function call(
    session_id: SessionId | undefined,
    name: string,
    args: object,
    wait_ms: number,
  ): Promise<unknown> {
    const options = { repeatable: true, wait_ms, session_id }
    const answer = await upstream.request('tools/call', { name, arguments: args }, options)
    const { isError, structuredContent } = parseAnswer(ToolAnswer, answer)
    if (isError === true) throw fromProblem(parseAnswer(Problem, structuredContent))
    return structuredContent
  }

  return {
    confirm(session_id, drain_id) {
      // A peek with a confirmation drains nothing.
      const args = { peek: true, limit: 1, confirm: drain_id }
      return call(session_id, DRAIN_TOOL, args, LIMITS.bridge_confirm_wait_ms)
    },
    release(session_id, signal_ids) {
      const args = { action: 'release', params: { signal_ids } }
      return call(session_id, 'signals', args, LIMITS.bridge_confirm_wait_ms)
    },
    async releaseUnknown(session_id, isKnown, wait_ms) {
      const signals = (action: string, params: object) =>
        call(session_id, 'signals', { action, params }, wait_ms)
      let released = 0
      for (let before_seq: number | undefined; ;) {
        const params = { leased_to: session_id, limit: LIMITS.inbox_limit_max, before_seq }
        const page = parseAnswer(Leased, await signals('inbox', params))
        const unknown = page.signals.filter(({ drain_id }) => drain_id === undefined || !isKnown(drain_id))
        if (unknown.length > 0) {
          await signals('release', { signal_ids: unknown.map(({ signal_id }) => signal_id) })
        }
        released += unknown.length
        // Each page is older than the previous one; an answer that is not would cause an endless loop.
        if (page.next == null || page.next >= (before_seq ?? Infinity)) return released
        before_seq = page.next
      }
    },
  }
}

/** Throws `hub_unreachable` for an answer that does not match the schema. */
function parseAnswer<T>(schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  const why = `the response is not a hub's: ${describeIssues(parsed.error)}`
  throw unreachable(new Error(why, { cause: parsed.error }))
}

/** Returns the drain in a tool's result, or null for a peek, an empty drain or another result. */
export function drainIn(result: Record<string, unknown>): OpenDrain | null {
  const content = result['structuredContent'] as { drain_id?: unknown } | undefined
  if (typeof content?.drain_id !== 'string') return null
  const parsed = DrainResult.safeParse(content)
  if (result['isError'] === true || !parsed.success || parsed.data.drain_id === null) return null
  return { drain_id: parsed.data.drain_id, signal_ids: parsed.data.signals.map(({ signal_id }) => signal_id) }
}
