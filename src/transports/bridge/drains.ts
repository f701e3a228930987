/**
 * The drains of this bridge, from the asking to the last word about them. The hub keeps what a drain handed out
 * under a lease, and takes the next drain of the session for a sign that the client has it.
 *
 *     asked ──┬──> handed ──┬──> written ──────> confirmation said
 *             │             └──> given up ─────> release said
 *             └──> lost <─────────(release that could not be said)
 *                   └──────────────────────────> looked up at the hub, and released
 *
 * - asked: on its way to the hub, one at a time.
 * - handed: the answer is here, and not yet in the client's pipe.
 * - written: the client has it. It is confirmed at once, or later by the adapter that knows when it was read.
 * - given up: the client will never see it, or was told of an error in its place.
 * - lost: its answer never came. The hub may hold it under the session, nobody knows by which name.
 *
 * A drain is only asked for where no former one of its session is handed or lost, and nothing is left to be said:
 * it would make them final. A confirmation that is never said costs a repetition, never a signal; a release that
 * could not be said makes its drain a lost one. A client waits less long than the hub is tried: a drain that may
 * not be asked for by then is refused, as going past what is owed might lose or repeat what the client has.
 */
import * as z from 'zod'
import { AnswerLost, unreachable, type Upstream } from './upstream.ts'
import { DRAIN_TOOL } from '../../contracts/drain.ts'
import { DrainResult } from '../../contracts/signal.ts'
import { describeIssues, fromProblem, Problem, TurnbellError } from '../../contracts/errors.ts'
import type { DrainId, SessionId, SignalId } from '../../contracts/ids.ts'
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
   * Drains, once nothing stands before it. `ask` says `handed` of what it brings before it resolves. A drain whose
   * answer was lost goes back and is asked for once more. Rejects with `hub_unreachable` where something stood
   * before it for `bridge_wait_ms`; then it is never asked for.
   */
  take<T>(session_id: SessionId, ask: () => Promise<T>): Promise<T>
  /** The client is being handed this one. One of the three below must follow, or no drain of the session does. */
  handed(session_id: SessionId, drain: OpenDrain): void
  /** The client has the answer, and it will be said later whether it was read. */
  written(drain_id: DrainId): void
  /** The client has what was drained. */
  confirm(drain_id: DrainId): void
  /** The client will never see it. Takes whole drains that were handed. */
  release(signal_ids: readonly SignalId[]): void
  /** Resolves once everything owed so far has been said to the hub, or could not be. */
  settled(): Promise<void>
  /** What an earlier bridge of this session drained and never confirmed goes back. */
  releaseLeft(session_id: SessionId): Promise<void>
}

interface Held {
  session_id: SessionId
  signal_ids: readonly SignalId[]
  written: boolean
}

const Call = z.object({ isError: z.boolean().optional(), structuredContent: z.unknown().optional() })
const Leased = z.object({
  signals: z.array(z.object({ signal_id: z.string(), drain_id: z.string().optional() })),
  /** A hub of an earlier version told everything at once. */
  next: z.number().nullish(),
})

export function createDrains({ upstream, clock, log }: DrainsDeps): Drains {
  /** Handed or written, and the hub has not heard what became of it. Nothing else gives these back. */
  const held = new Map<DrainId, Held>()
  /**
   * Confirmed drains, oldest first. The hub holds their leases until the turn ends; the client has them, so they are not
   * given back with a lost answer.
   */
  const confirmed = new Set<DrainId>()
  /** Sessions for which the hub may hold what nobody will see. */
  const lost = new Set<SessionId>()
  /** What is asked of the hub, one after the other. */
  let queue: Promise<unknown> = Promise.resolve()
  let unsaid = 0
  /** The last that is to be said; a leaving process waits for it, and not for a drain, which breaks by itself. */
  let said: Promise<void> = Promise.resolve()
  /** Drains that may not be asked for yet. */
  const waiting = new Set<() => void>()

  function inTurn<T>(step: () => Promise<T>): Promise<T> {
    const done = queue.then(step)
    queue = done.catch(() => undefined)
    return done
  }

  function isClear(session_id: SessionId): boolean {
    if (unsaid > 0) return false
    for (const one of held.values()) if (!one.written && one.session_id === session_id) return false
    return true
  }

  /** Outside the queue: what it waits for may have to go through that. */
  function cleared(session_id: SessionId): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = clock.after(LIMITS.bridge_wait_ms, () => {
        waiting.delete(look)
        reject(unreachable(new Error('it has yet to hear what became of a former drain')))
      })
      const look = () => {
        if (!isClear(session_id)) return
        late.cancel()
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
    })
  }

  const moved = () => {
    for (const look of [...waiting]) look()
  }

  /** `then` hears whether the hub has been told, before any drain is asked for. */
  function say(what: string, step: () => Promise<unknown>, then: (told: boolean) => void): void {
    if (unsaid >= LIMITS.bridge_confirms_max) {
      log.warn({}, `too much waits to be said to the hub; this is dropped: ${what}`)
      return then(false)
    }
    unsaid += 1
    said = inTurn(step)
      .then(
        () => {
          log.debug({}, what)
          return true
        },
        (error: unknown) => {
          log.warn({ err: error }, `could not tell the hub: ${what}`)
          return false
        },
      )
      .then((told) => {
        then(told)
        unsaid -= 1
        moved()
      })
  }

  /** Throws what the hub refuses it with, and `hub_unreachable` for what no hub says. */
  async function call(
    session_id: SessionId | undefined,
    name: string,
    args: object,
    wait_ms: number,
  ): Promise<unknown> {
    const options = { repeatable: true, wait_ms, session_id }
    const answer = await upstream.request('tools/call', { name, arguments: args }, options)
    const { isError, structuredContent } = understood(Call, answer)
    if (isError === true) throw fromProblem(understood(Problem, structuredContent))
    return structuredContent
  }

  /** Only in turn: a drain beside it would be listed before anybody knows that it came. */
  async function giveBackLeft(session_id: SessionId, wait_ms: number): Promise<void> {
    const ask = (action: string, params: object) => call(session_id, 'signals', { action, params }, wait_ms)
    for (let before_seq: number | undefined; ;) {
      const params = { leased_to: session_id, limit: LIMITS.inbox_limit_max, before_seq }
      const { signals, next } = understood(Leased, await ask('inbox', params))
      const isKnown = (drain_id: DrainId) => held.has(drain_id) || confirmed.has(drain_id)
      const left = signals.filter(({ drain_id }) => drain_id === undefined || !isKnown(drain_id))
      if (left.length > 0) {
        log.info({ signals: left.length }, 'a drain that nobody was handed stands open; it goes back')
        await ask('release', { signal_ids: left.map(({ signal_id }) => signal_id) })
      }
      // Pages go back in time: whatever says otherwise would never come to an end.
      if (next == null || next >= (before_seq ?? Infinity)) break
      before_seq = next
    }
    lost.delete(session_id)
  }

  /** Without a next drain, too: the end of a turn would make final what was lost in it. */
  function giveBackSoon(session_id: SessionId): void {
    const step = async () => {
      if (lost.has(session_id)) await giveBackLeft(session_id, LIMITS.bridge_confirm_wait_ms)
    }
    say(`gave back what was lost in ${session_id}`, step, () => undefined)
  }

  async function askFor<T>(session_id: SessionId, ask: () => Promise<T>): Promise<T> {
    for (let broken: AnswerLost | null = null, asked = 0; ; asked += 1) {
      try {
        if (lost.has(session_id)) await giveBackLeft(session_id, LIMITS.bridge_leftover_wait_ms)
      } catch (error) {
        giveBackSoon(session_id)
        // Where no hub says otherwise, what was asked first may have happened.
        const is_away = error instanceof TurnbellError && error.code === 'hub_unreachable'
        throw is_away ? (broken ?? error) : error
      }
      if (broken !== null && asked === 2) throw broken
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof AnswerLost)) throw error
        broken = error
        lost.add(session_id)
      }
    }
  }

  function written(drain_id: DrainId): void {
    const drain = held.get(drain_id)
    if (drain !== undefined) drain.written = true
    moved()
  }

  return {
    async take(session_id, ask) {
      for (;;) {
        if (!isClear(session_id)) await cleared(session_id)
        const answer = await inTurn(async () => {
          // A former drain may have been handed meanwhile, or something may be left to say of it.
          return isClear(session_id) ? { is: await askFor(session_id, ask) } : null
        })
        if (answer !== null) return answer.is
      }
    },
    handed(session_id, { drain_id, signal_ids }) {
      // Of none there is nothing to lose, and nothing by which it could be given back.
      if (signal_ids.length > 0) held.set(drain_id, { session_id, signal_ids, written: false })
    },
    written,
    confirm(drain_id) {
      // A peek that carries the confirmation takes nothing itself.
      const args = { peek: true, limit: 1, confirm: drain_id }
      const session_id = held.get(drain_id)?.session_id
      const step = () => call(session_id, DRAIN_TOOL, args, LIMITS.bridge_confirm_wait_ms)
      confirmed.add(drain_id)
      for (const oldest of confirmed) {
        if (confirmed.size <= LIMITS.bridge_confirms_max) break
        confirmed.delete(oldest)
      }
      say(`confirmed drain ${drain_id}`, step, () => held.delete(drain_id))
      written(drain_id)
    },
    release(signal_ids) {
      const given_up = new Set(signal_ids)
      for (const [drain_id, { session_id, signal_ids }] of [...held]) {
        if (!signal_ids.some((id) => given_up.has(id))) continue
        held.delete(drain_id)
        const args = { action: 'release', params: { signal_ids } }
        const step = () => call(session_id, 'signals', args, LIMITS.bridge_confirm_wait_ms)
        say(`gave ${signal_ids.length} signals back`, step, (told) => {
          if (told || lost.has(session_id)) return
          lost.add(session_id)
          giveBackSoon(session_id)
        })
      }
    },
    settled: () => said,
    releaseLeft: (session_id) => inTurn(() => giveBackLeft(session_id, LIMITS.bridge_leftover_wait_ms)),
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
