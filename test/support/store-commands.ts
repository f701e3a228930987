/** Random commands for signal stores. Every compared store receives the same commands with the same ids. */
import fc from 'fast-check'
import { TurnbellError } from '../../src/contracts/errors/errors.ts'
import type { Signal } from '../../src/contracts/signal.ts'
import type { Lease, SignalStore } from '../../src/ports/signal-store.ts'
import { fakeClock, type FakeClock } from './fakes/fake-clock.ts'
import { DAY_MS, signalMaker, type SignalMaker } from './signals.ts'
import { PERSONAS } from './store-state.ts'

interface Draft {
  to: string
  from: string
  priority: number
  intent: string
  key: string | undefined
  session: string | undefined
  reply: boolean
  ttl_ms: number
  payload: fc.JsonValue
}

export type Command =
  | { do: 'append'; draft: Draft }
  | { do: 'appendAll'; drafts: Draft[] }
  | {
      do: 'drain'
      identity: string
      limit: number
      session: string
      except: string[]
      bytes_max: number | undefined
    }
  | { do: 'confirm' | 'release'; lease: number }
  | { do: 'releaseSignals'; identity: string; picks: number[] }
  | { do: 'complete'; identity: string; picks: number[]; result: fc.JsonValue | undefined }
  | { do: 'replay'; pick: number }
  | { do: 'mark' | 'told'; picks: number[] }
  | { do: 'expire' | 'compact' }
  | { do: 'pass' | 'stepBack'; ms: number }

const persona = fc.constantFrom(...PERSONAS)
const session = fc.constantFrom('s-1', 's-2', 'other "session"')
const picks = fc.array(fc.nat(), { maxLength: 4 })
const ttl_ms = fc.constantFrom(1, 1000, DAY_MS, 40 * DAY_MS, 100 * DAY_MS)
const times = fc.constantFrom(1, 1000, 3_600_000, DAY_MS, 8 * DAY_MS)

/** JSON values without negative zeros, which JSON cannot represent. */
const json = (maxDepth: number) =>
  fc.jsonValue({ maxDepth }).map((value) => JSON.parse(JSON.stringify(value)) as fc.JsonValue)

const draft: fc.Arbitrary<Draft> = fc.record({
  to: persona,
  from: persona,
  priority: fc.integer({ min: 0, max: 9 }),
  intent: fc.constantFrom('note', 'ask', 'review/please', 'ünusual'),
  key: fc.option(fc.constantFrom('k1', 'k2', 'a "third" key'), { nil: undefined, freq: 4 }),
  session: fc.option(session, { nil: undefined, freq: 4 }),
  reply: fc.boolean(),
  ttl_ms,
  payload: fc.oneof(json(2), fc.constant('x'.repeat(700))),
})

const changing: fc.Arbitrary<Command>[] = [
  fc.record({ do: fc.constant('append' as const), draft }),
  fc.record({ do: fc.constant('append' as const), draft }),
  fc.record({ do: fc.constant('appendAll' as const), drafts: fc.array(draft, { maxLength: 4 }) }),
  fc.record({
    do: fc.constant('drain' as const),
    identity: persona,
    limit: fc.integer({ min: 1, max: 4 }),
    session,
    except: fc.array(session, { maxLength: 1 }),
    bytes_max: fc.option(fc.integer({ min: 1, max: 1000 }), { nil: undefined, freq: 3 }),
  }),
  fc.record({ do: fc.constantFrom('confirm' as const, 'release' as const), lease: fc.nat() }),
  fc.record({ do: fc.constant('release' as const), lease: fc.nat({ max: 2 }) }),
  fc.record({ do: fc.constant('releaseSignals' as const), identity: persona, picks }),
  fc.record({
    do: fc.constant('complete' as const),
    identity: persona,
    picks,
    result: fc.option(json(1), { nil: undefined }),
  }),
  fc.record({ do: fc.constant('replay' as const), pick: fc.nat() }),
  fc.record({ do: fc.constantFrom('mark' as const, 'told' as const), picks }),
  fc.record({ do: fc.constant('expire' as const) }),
  fc.record({ do: fc.constantFrom('pass' as const, 'pass' as const, 'stepBack' as const), ms: times }),
]

export const commands = fc.oneof(...changing)
export const commandsAndCompaction = fc.oneof(
  ...changing,
  fc.record({ do: fc.constant('compact' as const) }),
  fc.record({ do: fc.constant('compact' as const) }),
)

/** A reused idempotency key is a valid outcome: every store must reject the request and store nothing. */
async function orReused<T>(appended: Promise<T>): Promise<T | 'idempotency_key_reused'> {
  try {
    return await appended
  } catch (error) {
    if (error instanceof TurnbellError && error.code === 'idempotency_key_reused') return error.code
    throw error
  }
}

/** Records the signals and leases so far, so that commands can refer to them. */
export class Script {
  readonly clock: FakeClock = fakeClock()
  readonly make: SignalMaker = signalMaker(this.clock)
  readonly signal_ids: string[] = []
  readonly leases: Lease[] = []

  /** Fixes all random choices of a command, so that it has the same meaning for every store. */
  async plan(command: Command): Promise<(store: SignalStore) => Promise<unknown>> {
    const now = this.make.at()
    const ids = (picks: number[]) => picks.map((pick) => pickFrom(this.signal_ids, pick) ?? this.make.id())
    switch (command.do) {
      case 'append': {
        const signal = this.signal(command.draft)
        return (store) => orReused(store.append(signal))
      }
      case 'appendAll': {
        const signals = command.drafts.map((draft) => this.signal(draft))
        return (store) => orReused(store.appendAll(signals))
      }
      case 'drain': {
        const lease = this.make.lease(command.session)
        this.leases.push(lease)
        const { limit, bytes_max, except: except_sessions } = command
        const request = {
          ...lease,
          limit,
          now,
          except_sessions,
          ...(bytes_max === undefined ? {} : { bytes_max }),
        }
        return (store) => store.drain(command.identity, request)
      }
      case 'confirm':
      case 'release': {
        // Counted from the newest, because old leases have usually ended.
        const drain_id = pickFrom(this.leases.toReversed(), command.lease)?.drain_id ?? this.make.id()
        return (store) => (command.do === 'confirm' ? store.confirm(drain_id, now) : store.release(drain_id))
      }
      case 'releaseSignals': {
        const picked = ids(command.picks)
        // Tried under every lease; the list is valid for at most one of them.
        const leased = this.leases.flatMap(({ drain_id }) =>
          picked.map((signal_id) => ({ signal_id, drain_id })),
        )
        return (store) => store.releaseSignals(command.identity, leased)
      }
      case 'complete': {
        const picked = ids(command.picks)
        return (store) => store.complete(command.identity, picked, command.result as never, now)
      }
      case 'replay': {
        const [picked] = ids([command.pick])
        return (store) => store.replay(picked!, now)
      }
      case 'mark': {
        const picked = ids(command.picks)
        return async (store) => store.mark(picked, 'pushed_at', now)
      }
      case 'told': {
        const picked = ids(command.picks)
        return (store) => store.markNotified(picked)
      }
      case 'expire':
        return (store) => store.expire(now)
      case 'compact':
        return (store) => store.compact(now)
      case 'pass':
        await this.clock.advance(command.ms)
        return async () => {}
      case 'stepBack':
        this.clock.setBack(command.ms)
        return async () => {}
    }
  }

  private signal({ to, from, priority, intent, key, session, reply, ttl_ms, payload }: Draft): Signal {
    const answered = pickFrom(this.signal_ids, priority)
    const signal = this.make.signal({
      to,
      from,
      priority,
      intent,
      payload: payload as Signal['payload'],
      expires_at: this.make.at(ttl_ms),
      ...(key === undefined ? {} : { idempotency_key: key }),
      ...(session === undefined ? {} : { to_session: session }),
      ...(reply && answered !== undefined ? { in_reply_to: answered, intent: 'reply' } : {}),
    })
    this.signal_ids.push(signal.signal_id)
    return signal
  }
}

function pickFrom<T>(list: readonly T[], pick: number): T | undefined {
  return list.length === 0 ? undefined : list[pick % list.length]
}
