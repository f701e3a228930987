/**
 * Drains this bridge has handed on. The hub keeps their signals under a lease until it hears that the
 * client has the bytes; here is remembered what must still be said.
 *
 * A confirmation waits for a hub that is away and is said before the next drain. One that is never said
 * costs a repetition, never a signal. A client waits less long: a drain that stands behind one for more than
 * that is not made at all, as going past it might repeat what the client has.
 */
import * as z from 'zod'
import { AnswerLost, unreachable, type Upstream } from './upstream.ts'
import { DRAIN_TOOL } from '../../contracts/drain.ts'
import { DrainResult } from '../../contracts/signal.ts'
import { describeIssues, fromProblem, Problem, TurnbellError } from '../../contracts/errors.ts'
import type { DrainId, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'

export interface DrainsDeps {
  upstream: Pick<Upstream, 'request'>
  clock: Pick<Clock, 'after'>
  log: Log
}

export interface OpenDrain {
  drain_id: DrainId
  signal_ids: SignalId[]
}

export interface Drains {
  /**
   * Drains, after everything that was asked of the hub before: a drain makes the former ones of its
   * session final. One whose answer was lost goes back and is asked for once more. Rejects with
   * `hub_unreachable` where what is to be said first has not been within `bridge_wait_ms`; then it is never asked for.
   */
  take<T>(session_id: string, ask: () => Promise<T>): Promise<T>
  /** The client is being handed this one: until it is confirmed or released nothing else gives it back. */
  handed(drain: OpenDrain): void
  /** The client has what was drained. */
  confirm(drain_id: DrainId): void
  /** The client will never see it. Takes whole drains. */
  release(signal_ids: readonly SignalId[]): void
  /** Resolves once everything said so far has been said to the hub, or could not be. */
  settled(): Promise<void>
  /** What an earlier bridge of this session drained and never confirmed goes back. */
  releaseLeft(session_id: string): Promise<void>
}

const Call = z.object({ isError: z.boolean().optional(), structuredContent: z.unknown() })
const Held = z.object({
  signals: z.array(z.object({ signal_id: z.string(), drain_id: z.string().optional() })),
  /** A hub of an earlier version told everything at once. */
  next: z.number().nullish(),
})

export function createDrains({ upstream, clock, log }: DrainsDeps): Drains {
  /** One after the other, in the order they were asked for. */
  let queue: Promise<unknown> = Promise.resolve()
  /** The last of them that a leaving process waits for; a drain that is under way breaks by itself. */
  let said: Promise<void> = Promise.resolve()
  let waiting = 0
  /** Handed to the client, and the hub has not heard what became of it. */
  const open = new Map<DrainId, readonly SignalId[]>()
  /** The session for which the hub may hold a drain whose answer never came. */
  let lost_in: string | null = null

  function inTurn<T>(step: () => Promise<T>): Promise<T> {
    const done = queue.then(step)
    queue = done.catch(() => undefined)
    return done
  }

  /** As `inTurn`, but behind what the hub has yet to be told only for as long as a client waits. */
  function inTurnSoon<T>(step: () => Promise<T>): Promise<T> {
    if (waiting === 0) return inTurn(step)
    return new Promise((resolve, reject) => {
      let late = false
      const patience = clock.after(LIMITS.bridge_wait_ms, () => {
        late = true
        reject(unreachable(new Error('it has yet to hear what became of a former drain')))
      })
      const begin = async () => {
        patience.cancel()
        if (!late) resolve(await step())
      }
      inTurn(begin).catch(reject)
    })
  }

  function say(what: string, tool: string, args: Record<string, unknown>): Promise<void> {
    if (waiting >= LIMITS.bridge_confirms_max) {
      log.warn({}, `too many confirmations wait; this one is dropped: ${what}`)
      return Promise.resolve()
    }
    waiting += 1
    said = inTurn(() =>
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
    return said
  }

  /** Only in turn: a drain beside it would be listed before anybody knows that it came. */
  async function giveBackLeft(session_id: string): Promise<void> {
    const ask = async (action: string, params: object) => {
      const answer = await upstream.request(
        'tools/call',
        { name: 'signals', arguments: { action, params } },
        { repeatable: true, wait_ms: LIMITS.bridge_leftover_wait_ms },
      )
      const { isError, structuredContent } = understood(Call, answer)
      if (isError === true) throw fromProblem(understood(Problem, structuredContent))
      return structuredContent
    }
    for (let before_seq: number | undefined; ;) {
      const params = { leased_to: session_id, limit: LIMITS.inbox_limit_max, before_seq }
      const held = understood(Held, await ask('inbox', params))
      const left = held.signals.filter(({ drain_id }) => drain_id === undefined || !open.has(drain_id))
      if (left.length > 0) {
        log.info({ signals: left.length }, 'a drain that nobody was handed stands open; it goes back')
        await ask('release', { signal_ids: left.map(({ signal_id }) => signal_id) })
      }
      // Pages go back in time: whatever says otherwise would never come to an end.
      if (held.next == null || held.next >= (before_seq ?? Infinity)) break
      before_seq = held.next
    }
    if (lost_in === session_id) lost_in = null
  }

  return {
    take(session_id, ask) {
      return inTurnSoon(async () => {
        for (let lost: AnswerLost | null = null, asked = 0; ; asked += 1) {
          try {
            // The next drain would make it final, and so would the end of the turn.
            if (lost_in !== null) await giveBackLeft(lost_in)
          } catch (error) {
            // Where no hub says otherwise, what was asked first may have happened.
            const is_away = error instanceof TurnbellError && error.code === 'hub_unreachable'
            throw is_away ? (lost ?? error) : error
          }
          if (lost !== null && asked === 2) throw lost
          try {
            return await ask()
          } catch (error) {
            if (!(error instanceof AnswerLost)) throw error
            ;[lost, lost_in] = [error, session_id]
          }
        }
      })
    },
    handed: ({ drain_id, signal_ids }) => void open.set(drain_id, signal_ids),
    confirm(drain_id) {
      // A peek that carries the confirmation takes nothing itself.
      const args = { peek: true, limit: 1, confirm: drain_id }
      void say(`confirmed drain ${drain_id}`, DRAIN_TOOL, args).then(() => open.delete(drain_id))
    },
    release(signal_ids) {
      if (signal_ids.length === 0) return
      for (const [drain_id, ids] of open) if (ids.some((id) => signal_ids.includes(id))) open.delete(drain_id)
      const params = { signal_ids: [...signal_ids] }
      void say(`gave ${signal_ids.length} signals back`, 'signals', { action: 'release', params })
    },
    settled: () => said,
    releaseLeft: (session_id) => inTurn(() => giveBackLeft(session_id)),
  }
}

/** Throws `hub_unreachable` for what no hub says of the leases it keeps. */
function understood<T>(form: z.ZodType<T>, told: unknown): T {
  const parsed = form.safeParse(told)
  if (parsed.success) return parsed.data
  const why = `what listens there does not say which signals it holds: ${describeIssues(parsed.error)}`
  throw unreachable(new Error(why, { cause: parsed.error }))
}

/** The drain in a tool's result, or null for a peek, an empty one, or anything else. */
export function drainIn(result: Record<string, unknown>): OpenDrain | null {
  const told = result['structuredContent'] as { drain_id?: unknown } | undefined
  if (typeof told?.drain_id !== 'string') return null
  const parsed = DrainResult.safeParse(told)
  if (result['isError'] === true || !parsed.success || parsed.data.drain_id === null) return null
  return { drain_id: parsed.data.drain_id, signal_ids: parsed.data.signals.map(({ signal_id }) => signal_id) }
}
