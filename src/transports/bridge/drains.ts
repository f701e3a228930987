/**
 * Drains this bridge has handed on. The hub keeps their signals under a lease until it hears that the
 * client has the bytes; here is remembered what must still be said.
 *
 * A confirmation waits for a hub that is away and is said before the next drain. One that is never said
 * costs a repetition, never a signal.
 */
import { z } from 'zod'
import type { Upstream } from './upstream.ts'
import { DrainResult } from '../../contracts/signal.ts'
import type { DrainId, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Log } from '../../ports/log.ts'

export interface OpenDrain {
  drain_id: DrainId
  signal_ids: SignalId[]
}

export interface Drains {
  /** The client has what was drained. */
  confirm(drain_id: DrainId): void
  /** The client will never see it. */
  release(signal_ids: readonly SignalId[]): void
  /** Resolves once everything said so far has been said to the hub, or could not be. */
  settled(): Promise<void>
  /** What an earlier bridge of this session drained and never confirmed goes back. */
  releaseLeft(session_id: string): Promise<void>
}

const Call = z.object({ structuredContent: z.unknown() })
const Held = z.object({ signals: z.array(z.object({ signal_id: z.string() })) })

export function createDrains(upstream: Upstream, log: Log): Drains {
  /** One after the other, in the order they were said. */
  let said: Promise<void> = Promise.resolve()
  let waiting = 0

  function say(what: string, tool: string, args: Record<string, unknown>): void {
    if (waiting >= LIMITS.bridge_confirms_max) {
      log.warn({}, `too many confirmations wait; this one is dropped: ${what}`)
      return
    }
    waiting += 1
    said = said
      .then(() =>
        upstream.request(
          'tools/call',
          { name: tool, arguments: args },
          { repeatable: true, wait_ms: LIMITS.bridge_confirm_wait_ms },
        ),
      )
      .then(
        () => log.debug({}, what),
        (error: unknown) => log.warn({ err: error }, `could not tell the hub: ${what}`),
      )
      .finally(() => (waiting -= 1))
  }

  return {
    confirm(drain_id) {
      // A peek that carries the confirmation takes nothing itself.
      say(`confirmed drain ${drain_id}`, 'signals_pending', { peek: true, limit: 1, confirm: drain_id })
    },
    release(signal_ids) {
      if (signal_ids.length === 0) return
      const params = { signal_ids: [...signal_ids] }
      say(`gave ${signal_ids.length} signals back`, 'signals', { action: 'release', params })
    },
    settled: () => said,

    async releaseLeft(session_id) {
      const params = { leased_to: session_id, limit: LIMITS.inbox_limit_max }
      const call = { name: 'signals', arguments: { action: 'inbox', params } }
      const answer = Call.parse(
        await upstream.request('tools/call', call, {
          repeatable: true,
          wait_ms: LIMITS.bridge_leftover_wait_ms,
        }),
      )
      const left = Held.parse(answer.structuredContent).signals
      if (left.length > 0)
        log.info({ signals: left.length }, 'an earlier process left a drain open; it goes back')
      this.release(left.map(({ signal_id }) => signal_id))
      await said
    },
  }
}

/** The drain in a tool's result, or null for a peek, an empty one, or anything else. */
export function drainIn(result: Record<string, unknown>): OpenDrain | null {
  const parsed = DrainResult.safeParse(result['structuredContent'])
  if (result['isError'] === true || !parsed.success || parsed.data.drain_id === null) return null
  return { drain_id: parsed.data.drain_id, signal_ids: parsed.data.signals.map(({ signal_id }) => signal_id) }
}
