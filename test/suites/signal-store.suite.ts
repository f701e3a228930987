/**
 * The promises of every signal store, in the order of `ports/signal-store.ts`. A bug found in one store becomes a case
 * here.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Signal } from '../../src/contracts/signal.ts'
import type { Drained, Lease, SignalStore } from '../../src/ports/signal-store.ts'
import type { Retention } from '../../src/storage/retention.ts'
import { fakeClock, type FakeClock } from '../support/fakes/fake-clock.ts'
import { DAY_MS, signalMaker, type SignalMaker } from '../support/signals.ts'

export interface OpenedStore {
  store: SignalStore
  /** Returns the store after a kill; the same store for one that is only in memory. */
  afterKill(): Promise<SignalStore>
  /** Returns the store after a clean close. */
  afterClose(): Promise<SignalStore>
}

const RETENTION: Retention = {
  deliveries_max: 5,
  idempotency_window_ms: DAY_MS,
  finished_retention_ms: 7 * DAY_MS,
}

export function describeSignalStore(
  name: string,
  open: (clock: FakeClock, retention: Retention) => Promise<OpenedStore>,
): void {
  describe(`signal store: ${name}`, () => {
    let clock: FakeClock
    let make: SignalMaker
    let opened: OpenedStore
    let store: SignalStore

    beforeEach(async () => {
      clock = fakeClock()
      make = signalMaker(clock)
      opened = await open(clock, RETENTION)
      store = opened.store
    })

    const append = async (...signals: Partial<Signal>[]): Promise<Signal[]> => {
      const made = signals.map((what) => make.signal(what))
      await Promise.all(made.map((signal) => store.append(signal)))
      return made
    }
    const drain = (limit = 100, identity = 'bob', lease = make.lease()) =>
      store.drain(identity, { ...lease, limit, now: make.at() })
    const confirm = async ({ drain_id }: Lease) => (await store.confirm(drain_id, make.at())).confirmed
    const ids = (drained: readonly Drained[]) => drained.map(({ signal }) => signal.signal_id)
    const pending = (identity = 'bob') => store.peek(identity, 1000).map((entry) => entry.signal_id)
    const status = async (signal_id: string) => (await store.read(signal_id))?.status

    describe('append', () => {
      test('seqs ascend by one in the order of the calls', async () => {
        const answers = await Promise.all([1, 2, 3].map(() => store.append(make.signal())))
        expect(answers.map(({ seq }) => seq)).toEqual([1, 2, 3])
        expect((await store.append(make.signal())).seq).toBe(4)
      })

      test('an accepted signal survives a kill completely', async () => {
        const full = make.signal({
          topic: 'a "quoted" topic\n',
          payload: { text: 'ünïcödé \u2028 🔔', list: [1, -2.5, null, true, { deep: [] }], empty: '' },
          priority: 9,
          reply_to: 'carl',
          in_reply_to: make.id(),
          to_session: 'session "7"',
          broadcast_id: make.id(),
          idempotency_key: 'key "1" \\ ü',
          intent: 'review/please',
          origin: 'human',
          from: 'operator',
        })
        const bare = make.signal({ payload: null })
        await store.append(full)
        await store.append(bare)
        store = await opened.afterKill()
        expect((await store.readPending('bob', 10)).map(({ signal }) => signal)).toEqual([full, bare])
      })

      test('seqs and ids continue after a kill, also if the newest signals are gone', async () => {
        const [first, second] = await append({}, {})
        store = await opened.afterKill()
        expect(store.health()).toMatchObject({ last_seq: 2, last_signal_id: second?.signal_id })
        expect((await store.append(make.signal())).seq).toBe(3)
        expect(pending()[0]).toBe(first?.signal_id)
      })

      test('a used key returns the first signal and stores nothing', async () => {
        const first = make.signal({ idempotency_key: 'k' })
        const answer = await store.append(first)
        const again = await store.append(make.signal({ idempotency_key: 'k', expires_at: make.at(DAY_MS) }))
        expect(again).toEqual({ ...answer, repeated: true })
        expect(store.health().signals).toBe(1)
        expect((await store.append(make.signal())).seq).toBe(2)
      })

      test('a used key with another request is rejected and stores nothing, across a kill', async () => {
        const payload = { b: [1, { c: 'x' }], a: -0 }
        const first = make.signal({ idempotency_key: 'k', payload })
        await store.append(first)
        const others: Partial<Signal>[] = [
          ...[{ payload: 'other' }, { to: 'carl' }, { intent: 'other' }, { topic: 't' }, { priority: 9 }],
          ...[{ reply_to: 'carl' }, { in_reply_to: first.signal_id }, { to_session: 's' }],
        ]
        for (let round = 0; round < 2; round += 1) {
          for (const other of others) {
            const again = make.signal({ idempotency_key: 'k', payload, ...other })
            const refused = { code: 'idempotency_key_reused' }
            await expect(store.append(again)).rejects.toMatchObject(refused)
            await expect(store.appendAll([make.signal(), again])).rejects.toMatchObject(refused)
          }
          const same = make.signal({ idempotency_key: 'k', payload: { a: 0, b: [1, { c: 'x' }] } })
          expect(await store.append(same)).toEqual({ seq: 1, signal_id: first.signal_id, repeated: true })
          expect(store.health()).toMatchObject({ signals: 1, last_seq: 1 })
          expect(store.pendingCount('carl')).toBe(0)
          store = await opened.afterKill()
        }
      })

      test('two different requests under one key in the same call are rejected', async () => {
        const both = ['one', 'two'].map((payload) => make.signal({ idempotency_key: 'k', payload }))
        await expect(store.appendAll(both)).rejects.toMatchObject({ code: 'idempotency_key_reused' })
        expect(store.health().signals).toBe(0)
      })

      test('a key counts as used while its signal is being stored', async () => {
        const first = make.signal({ idempotency_key: 'k' })
        const answers = await Promise.all([
          store.append(first),
          store.append(make.signal({ idempotency_key: 'k' })),
        ])
        expect(answers).toEqual([
          { seq: 1, signal_id: first.signal_id, repeated: false },
          { seq: 1, signal_id: first.signal_id, repeated: true },
        ])
      })

      test('a key belongs to its sender', async () => {
        await append(
          { idempotency_key: 'k' },
          { idempotency_key: 'k', from: 'carl' },
          { idempotency_key: 'k2' },
        )
        expect(store.health().signals).toBe(3)
      })

      test('sender and key are never split differently', async () => {
        await append({ from: 'a', idempotency_key: 'b c' }, { from: 'a-b', idempotency_key: 'c' })
        await append({ from: 'a', idempotency_key: 'b' }, { from: 'a', idempotency_key: ' b' })
        expect(store.health().signals).toBe(4)
      })

      test('a key is valid for 24 hours, across a kill, and whatever happens to its signal', async () => {
        const [first] = await append({ idempotency_key: 'k' })
        await store.complete('bob', [first!.signal_id], 'done', make.at())
        store = await opened.afterKill()
        await clock.advance(DAY_MS - 1)
        expect(await store.append(make.signal({ idempotency_key: 'k' }))).toEqual({
          seq: 1,
          signal_id: first?.signal_id,
          repeated: true,
        })
        await clock.advance(1)
        const second = make.signal({ idempotency_key: 'k' })
        expect(await store.append(second)).toEqual({ seq: 2, signal_id: second.signal_id, repeated: false })
        store = await opened.afterKill()
        // From now on the second signal is returned.
        expect(await store.append(make.signal({ idempotency_key: 'k' }))).toMatchObject({
          seq: 2,
          repeated: true,
        })
      })

      test('a clock that steps back forgets no key', async () => {
        await append({ idempotency_key: 'k' })
        clock.setBack(3 * DAY_MS)
        expect(await store.append(make.signal({ idempotency_key: 'k' }))).toMatchObject({
          seq: 1,
          repeated: true,
        })
      })

      test('a signal counts as pending from the call on', async () => {
        const appended = store.append(make.signal())
        expect(store.pendingCount('bob')).toBe(1)
        await appended
        expect(store.pendingCount('bob')).toBe(1)
      })
    })

    describe('appendAll', () => {
      test('appendAll stores all signals in order', async () => {
        await append({})
        const signals = ['bob', 'carl', 'dora'].map((to) => make.signal({ to, payload: to.repeat(1000) }))
        const appended = await store.appendAll(signals)
        expect(appended).toEqual(
          signals.map(({ signal_id }, place) => ({ signal_id, seq: place + 2, repeated: false })),
        )
        store = await opened.afterKill()
        for (const { to, signal_id } of signals) expect(pending(to).at(-1)).toBe(signal_id)
        expect(store.health()).toMatchObject({ signals: 4, last_seq: 4 })
      })

      test('appendAll of nothing changes nothing', async () => {
        expect(await store.appendAll([])).toEqual([])
        expect(store.health().last_seq).toBe(0)
      })

      test('appendAll returns the first signal of a used key, also of one in the same call', async () => {
        const [first] = await append({ idempotency_key: 'k' })
        const signals = [
          make.signal(),
          make.signal({ idempotency_key: 'k' }),
          make.signal({ idempotency_key: 'new' }),
          make.signal({ idempotency_key: 'new' }),
          make.signal({ idempotency_key: 'undefined' }),
          make.signal(),
        ]
        const appended = await store.appendAll(signals)
        expect(appended.map(({ seq, repeated }) => [seq, repeated])).toEqual([
          ...[
            [2, false],
            [1, true],
            [3, false],
          ],
          ...[
            [3, true],
            [4, false],
            [5, false],
          ],
        ])
        const ids = [first, signals[2], signals[2]].map((signal) => signal?.signal_id)
        expect([1, 2, 3].map((place) => appended[place]?.signal_id)).toEqual(ids)
        store = await opened.afterKill()
        expect(store.health().signals).toBe(5)
      })
    })

    describe('findByKey', () => {
      test('findByKey returns what an append would return as repeated', async () => {
        expect(store.findByKey('ada', 'k')).toBeNull()
        const [first] = await append({ idempotency_key: 'k' })
        const answer = { seq: 1, signal_id: first?.signal_id }
        expect(store.findByKey('ada', 'k')).toEqual(answer)
        expect(store.findByKey('bob', 'k')).toBeNull()
        expect(store.findByKey('ada', 'other')).toBeNull()
        store = await opened.afterKill()
        expect(store.findByKey('ada', 'k')).toEqual(answer)
        await clock.advance(DAY_MS)
        expect(store.findByKey('ada', 'k')).toBeNull()
        expect(store.findByKey('ada', 'k', make.at(-1))).toEqual(answer)
      })

      test('findByKey returns a signal that is not durable yet; an append returns it too or fails', async () => {
        const first = append({ idempotency_key: 'k' })
        const known = store.findByKey('ada', 'k')
        expect(known).toEqual({ seq: 1, signal_id: (await first)[0]?.signal_id })
      })
    })

    describe('peek, pendingCount and readPending', () => {
      test('pending signals are ordered by priority, then by age', async () => {
        const made = await append(
          { priority: 3 },
          { priority: 0 },
          { priority: 9 },
          { priority: 3 },
          { priority: 9 },
          { priority: 5, to: 'carl' },
        )
        const expected = [2, 4, 0, 3, 1].map((place) => made[place]?.signal_id)
        expect(pending()).toEqual(expected)
        expect(store.peek('bob', 2).map((entry) => entry.signal_id)).toEqual(expected.slice(0, 2))
        expect(ids(await store.readPending('bob', 3))).toEqual(expected.slice(0, 3))
        expect(store.pendingCount('bob')).toBe(5)
        const newest = [4, 3, 2, 1, 0].map((place) => made[place]?.signal_id)
        expect(store.newestPending('bob', 3).map((entry) => entry.signal_id)).toEqual(newest.slice(0, 3))
        expect(store.newestPending('bob', 9).map((entry) => entry.signal_id)).toEqual(newest)
        store = await opened.afterKill()
        expect(pending()).toEqual(expected)
      })

      test('a pending entry contains metadata only, and reading changes nothing', async () => {
        const [signal] = await append({ from: 'carl', intent: 'ask', priority: 7 })
        const entry = { signal_id: signal?.signal_id, seq: 1, from: 'carl', intent: 'ask', priority: 7 }
        expect(store.peek('bob', 10)).toEqual([entry])
        expect(store.newestPending('bob', 10)).toEqual([entry])
        expect(await store.readPending('bob', 10)).toEqual([{ signal, seq: 1, deliveries: 0 }])
        expect(await store.readPending('bob', 10)).toEqual([{ signal, seq: 1, deliveries: 0 }])
        expect(await status(signal!.signal_id)).toBe('pending')
      })

      test('a persona without signals has no pending entries', async () => {
        expect(store.peek('nobody', 10)).toEqual([])
        expect(store.newestPending('zoe', 10)).toEqual([])
        expect(store.pendingCount('nobody', ['s'])).toBe(0)
        expect(await store.readPending('nobody', 10)).toEqual([])
        expect(await drain(10, 'nobody')).toEqual([])
      })

      test('signals addressed to other sessions are skipped', async () => {
        const [all, mine, theirs] = await append({}, { to_session: 'mine' }, { to_session: 'theirs' })
        const shown = [all?.signal_id, mine?.signal_id]
        const check = async () => {
          expect(store.peek('bob', 10, ['theirs', 'gone']).map((entry) => entry.signal_id)).toEqual(shown)
          expect(store.pendingCount('bob', ['theirs'])).toBe(2)
          expect(store.pendingCount('bob', ['unheard of'])).toBe(3)
          expect(store.pendingCount('bob')).toBe(3)
          expect(ids(await store.readPending('bob', 10, ['theirs']))).toEqual(shown)
        }
        await check()
        store = await opened.afterKill()
        await check()
        const request = { ...make.lease(), limit: 10, now: make.at(), except_sessions: ['theirs'] }
        expect(ids(await store.drain('bob', request))).toEqual(shown)
        expect(pending()).toEqual([theirs?.signal_id])
      })
    })

    describe('drain', () => {
      test('a drain returns signals in order up to the limit and hides them', async () => {
        const made = await append({ priority: 1 }, { priority: 8 }, { priority: 8 })
        const lease = make.lease('s-1')
        const drained = await drain(2, 'bob', lease)
        expect(drained).toEqual([
          { signal: made[1], seq: 2, deliveries: 1 },
          { signal: made[2], seq: 3, deliveries: 1 },
        ])
        expect(pending()).toEqual([made[0]?.signal_id])
        expect(await store.read(made[1]!.signal_id)).toMatchObject({
          status: 'acked',
          deliveries: 1,
          leased_to: 's-1',
          drain_id: lease.drain_id,
          stages: { drained_at: make.at(), confirmed_at: null },
        })
        expect(ids(await drain())).toEqual([made[0]?.signal_id])
        expect(await drain()).toEqual([])
      })

      test('two concurrent drains share no signal', async () => {
        const made = await append(...Array.from({ length: 10 }, () => ({})))
        const drains = await Promise.all([drain(4), drain(4), drain(4)])
        expect(drains.map(({ length }) => length)).toEqual([4, 4, 2])
        expect(drains.flatMap(ids)).toEqual(made.map(({ signal_id }) => signal_id))
      })

      test('a drain sees signals appended before it in the same tick', async () => {
        const signal = make.signal()
        const appended = store.append(signal)
        expect(ids(await drain())).toEqual([signal.signal_id])
        await appended
      })

      test('a drain stops before the payloads, or their given sizes, exceed bytes_max, but returns at least one', async () => {
        // A text of 98 characters has 100 bytes as JSON.
        const made = await append({ payload: 'x'.repeat(98) }, { payload: 'ü'.repeat(49) }, { payload: 'zz' })
        const bounded = async (bytes_max: number, bytesOf?: (drained: Drained) => number) => {
          const lease = make.lease()
          const bound = { limit: 10, bytes_max, ...(bytesOf === undefined ? {} : { bytesOf }) }
          const drained = ids(await store.drain('bob', { ...lease, ...bound, now: make.at() }))
          await store.release(lease.drain_id)
          return drained.length
        }
        expect(await bounded(204)).toBe(3)
        expect(await bounded(203)).toBe(2)
        expect(await bounded(199)).toBe(1)
        expect(await bounded(1)).toBe(1)
        expect(await bounded(12, ({ seq }) => seq * 4)).toBe(2)
        expect(pending()).toHaveLength(made.length)
      })

      test('a lease survives a kill', async () => {
        const [signal] = await append({}, {})
        const lease = make.lease('s-1')
        await drain(1, 'bob', lease)
        store = await opened.afterKill()
        expect(store.leases()).toEqual([{ ...lease, identity: 'bob', signal_ids: [signal?.signal_id] }])
        expect(store.pendingCount('bob')).toBe(1)
        expect(await store.read(signal!.signal_id)).toMatchObject({ status: 'acked', leased_to: 's-1' })
      })
    })

    describe('confirm', () => {
      test("a confirm makes the lease's acks final", async () => {
        const [signal] = await append({})
        const lease = make.lease()
        await drain(1, 'bob', lease)
        await clock.advance(1000)
        expect(await confirm(lease)).toEqual([signal?.signal_id])
        const check = async () => {
          expect(store.leases()).toEqual([])
          expect(await store.release(lease.drain_id)).toEqual([])
          const view = await store.read(signal!.signal_id)
          expect(view).toMatchObject({ status: 'acked', stages: { confirmed_at: make.at() } })
          expect(view).not.toHaveProperty('leased_to')
          expect(view).not.toHaveProperty('drain_id')
        }
        await check()
        store = await opened.afterKill()
        await check()
      })

      test('a confirm of an unknown or empty lease confirms nothing', async () => {
        expect(await confirm(make.lease())).toEqual([])
        const lease = make.lease()
        await append({})
        await drain(1, 'bob', lease)
        await store.confirm(lease.drain_id, make.at())
        expect(await confirm(lease)).toEqual([])
      })

      test('a confirm after the release counts unless the signal was drained again', async () => {
        const [once, twice] = await append({ priority: 1 }, { priority: 5 })
        const first = make.lease()
        await drain(2, 'bob', first)
        await store.release(first.drain_id)
        const second = make.lease()
        await drain(1, 'bob', second)
        store = await opened.afterKill()
        expect(await store.confirm(first.drain_id, make.at())).toEqual({
          confirmed: [once?.signal_id],
          // This confirm removes it from the queue.
          waited: [once?.signal_id],
        })
        expect(pending()).toEqual([])
        expect(await status(once!.signal_id)).toBe('acked')
        expect(store.leases()).toMatchObject([{ drain_id: second.drain_id, signal_ids: [twice?.signal_id] }])
        await store.release(second.drain_id)
        expect(pending()).toEqual([twice?.signal_id])
      })

      test('a late confirm counts for a signal that died or expired', async () => {
        const [dying] = await append({ priority: 9 })
        let lease = make.lease()
        for (let delivery = 1; delivery <= 6; delivery += 1) {
          lease = make.lease()
          await drain(1, 'bob', lease)
          await store.release(lease.drain_id)
        }
        expect(await status(dying!.signal_id)).toBe('dead')
        const of_dead = { confirmed: [dying?.signal_id], waited: [] }
        expect(await store.confirm(lease.drain_id, make.at())).toEqual(of_dead)
        expect(await status(dying!.signal_id)).toBe('acked')

        const [expiring] = await append({ expires_at: make.at(10) })
        const late = make.lease()
        await drain(1, 'bob', late)
        await store.release(late.drain_id)
        await store.expire(make.at(10))
        expect(await confirm(late)).toEqual([expiring?.signal_id])
        expect(await status(expiring!.signal_id)).toBe('acked')
      })
    })

    describe('release', () => {
      test('a release returns signals to their former position', async () => {
        const made = await append({}, {}, {}, { priority: 9 })
        const lease = make.lease()
        await drain(3, 'bob', lease)
        const back = await store.release(lease.drain_id)
        expect(back).toEqual(
          [made[3], made[0], made[1]].map((signal) => ({
            signal_id: signal?.signal_id,
            to: 'bob',
            status: 'pending',
          })),
        )
        const order = [3, 0, 1, 2].map((place) => made[place]?.signal_id)
        expect(pending()).toEqual(order)
        expect(store.leases()).toEqual([])
        store = await opened.afterKill()
        expect(pending()).toEqual(order)
        expect((await drain()).map(({ deliveries }) => deliveries)).toEqual([2, 2, 2, 1])
      })

      test('a release of an unknown lease releases nothing, and a second one nothing more', async () => {
        expect(await store.release(make.id())).toEqual([])
        await append({})
        const lease = make.lease()
        await drain(1, 'bob', lease)
        expect(await store.release(lease.drain_id)).toHaveLength(1)
        expect(await store.release(lease.drain_id)).toEqual([])
      })

      test('a signal is dead after its sixth release and stays dead', async () => {
        const [signal] = await append({})
        const outcomes: string[] = []
        for (let delivery = 1; delivery <= 6; delivery += 1) {
          const lease = make.lease()
          const [drained] = await drain(1, 'bob', lease)
          expect(drained?.deliveries).toBe(delivery)
          outcomes.push(...(await store.release(lease.drain_id)).map((released) => released.status))
        }
        expect(outcomes).toEqual(['pending', 'pending', 'pending', 'pending', 'pending', 'dead'])
        store = await opened.afterKill()
        expect(await status(signal!.signal_id)).toBe('dead')
        expect(store.pendingCount('bob')).toBe(0)
        expect(await drain()).toEqual([])
        await store.expire(make.at(100 * DAY_MS))
        expect(await store.compact(make.at(100 * DAY_MS))).toEqual({ forgotten: 0 })
        expect(await status(signal!.signal_id)).toBe('dead')
      })
    })

    describe('releaseSignals', () => {
      test("releaseSignals releases some of a persona's leased signals and keeps the rest", async () => {
        const made = await append({}, {}, {}, { to: 'carl' })
        const lease = make.lease()
        await drain(2, 'bob', lease)
        const carls = make.lease()
        await drain(1, 'carl', carls)
        const [mine, waiting, theirs] = [made[1], made[2], made[3]].map((signal) => ({
          signal_id: signal!.signal_id,
          drain_id: lease.drain_id,
        }))
        const asked = [mine!, waiting!, { ...theirs!, drain_id: carls.drain_id }]
        const unknown = { signal_id: make.id(), drain_id: lease.drain_id }
        expect(await store.releaseSignals('bob', [...asked, unknown, mine!])).toEqual([
          { signal_id: made[1]?.signal_id, to: 'bob', status: 'pending' },
        ])
        store = await opened.afterKill()
        expect(pending()).toEqual([made[1]?.signal_id, made[2]?.signal_id])
        expect(store.leases().map(({ signal_ids }) => signal_ids)).toEqual([
          [made[0]?.signal_id],
          [made[3]?.signal_id],
        ])
        // Released for good, unlike by `release`: the confirm covers the signals that the agent kept.
        expect(await confirm(lease)).toEqual([made[0]?.signal_id])
        expect(pending()).toEqual([made[1]?.signal_id, made[2]?.signal_id])
      })

      test('signals released by releaseSignals are not found by a later confirm', async () => {
        const [signal] = await append({})
        const lease = make.lease()
        await drain(1, 'bob', lease)
        await store.releaseSignals('bob', [{ signal_id: signal!.signal_id, drain_id: lease.drain_id }])
        expect(await confirm(lease)).toEqual([])
        store = await opened.afterKill()
        expect(await confirm(lease)).toEqual([])
        store = await opened.afterClose()
        expect(await confirm(lease)).toEqual([])
        expect(pending()).toEqual([signal?.signal_id])
        expect((await store.read(signal!.signal_id))?.stages.confirmed_at).toBeNull()
        expect(await drain()).toMatchObject([{ deliveries: 2 }])
      })

      test('releaseSignals skips signals that were drained again', async () => {
        const [signal] = await append({})
        const [first, second] = [make.lease(), make.lease('session-2')]
        await drain(1, 'bob', first)
        await store.release(first.drain_id)
        await drain(1, 'bob', second)
        const { signal_id } = signal!
        expect(await store.releaseSignals('bob', [{ signal_id, drain_id: first.drain_id }])).toEqual([])
        expect(store.leases()).toMatchObject([{ drain_id: second.drain_id, signal_ids: [signal_id] }])
      })
    })

    describe('inProgress and markNotified', () => {
      const list = async (unnotified_except?: string[], limit = 10) => {
        const found = await store.inProgress('bob', {
          limit,
          ...(unnotified_except === undefined ? {} : { unnotified_except }),
        })
        return found.signals.map(({ signal_id }) => signal_id)
      }

      test('a signal is in progress from its confirmation to its completion', async () => {
        const [one, two] = await append({ intent: 'review', from: 'carl' }, {}, { to: 'carl' })
        const lease = make.lease()
        const at = make.at()
        await drain(100, 'bob', lease)
        expect(store.inProgressCount('bob')).toBe(0)
        expect(await list()).toEqual([])
        await confirm(lease)
        expect(store.inProgressCount('bob')).toBe(2)
        expect(store.inProgressCount('carl')).toBe(0)
        expect(store.inProgressCount('nobody')).toBe(0)
        expect(await store.inProgress('bob', { limit: 1 })).toMatchObject({
          count: 2,
          signals: [{ signal_id: two!.signal_id }],
        })
        expect((await store.inProgress('bob', { limit: 10 })).signals[1]).toEqual({
          ...{ signal_id: one!.signal_id, from: 'carl', intent: 'review', drained_at: at },
        })
        await store.complete('bob', [one!.signal_id], undefined, make.at())
        expect(await list()).toEqual([two!.signal_id])
        await store.replay(two!.signal_id, make.at())
        expect(store.inProgressCount('bob')).toBe(0)
      })

      test.each(['afterKill', 'afterClose'] as const)('signals in progress are the same %s', async (how) => {
        const [one, two, three] = await append({}, {}, {})
        for (const session_id of ['s1', 's2']) {
          const lease = { ...make.lease(), session_id }
          await drain(1, 'bob', lease)
          await confirm(lease)
        }
        await drain(1)
        await store.markNotified([one!.signal_id, three!.signal_id])
        store = await opened[how]()
        expect(store.inProgressCount('bob')).toBe(2)
        expect(await list()).toEqual([two!.signal_id, one!.signal_id])
        expect(await list([])).toEqual([two!.signal_id])
        expect(await list(['s2'])).toEqual([])
      })

      test('signals that a session drained, or of which a session was notified, are excluded', async () => {
        const [one, two] = await append({}, {})
        for (const session_id of ['s1', 's2']) {
          const lease = { ...make.lease(), session_id }
          await drain(1, 'bob', lease)
          await confirm(lease)
        }
        expect(await list(['s1'])).toEqual([two!.signal_id])
        expect(await list(['s1', 's2'])).toEqual([])
        expect(await list(['never seen'])).toEqual([two!.signal_id, one!.signal_id])
        await store.markNotified([two!.signal_id, make.id()])
        expect(await list(['s1'])).toEqual([])
        expect(await list(['s3'])).toEqual([one!.signal_id])
        expect(store.inProgressCount('bob')).toBe(2)
      })

      test('a signal that was replayed and drained again is reported again', async () => {
        const [signal] = await append({})
        const take = async () => {
          const lease = { ...make.lease(), session_id: 's1' }
          await drain(1, 'bob', lease)
          await confirm(lease)
        }
        await take()
        await store.markNotified([signal!.signal_id])
        await store.replay(signal!.signal_id, make.at())
        await take()
        expect(await list(['s2'])).toEqual([signal!.signal_id])
      })

      test('a forgotten signal is not in progress', async () => {
        await append({})
        const lease = make.lease()
        await drain(1, 'bob', lease)
        await confirm(lease)
        await store.compact(make.at(8 * DAY_MS))
        expect(store.inProgressCount('bob')).toBe(0)
        expect(await list()).toEqual([])
      })
    })

    describe('complete', () => {
      test('complete ends a drained signal and stores its result', async () => {
        const [signal] = await append({})
        await drain()
        await clock.advance(5)
        const result = { answer: 42, text: 'ü"' }
        expect(await store.complete('bob', [signal!.signal_id], result, make.at())).toEqual({
          completed: [signal?.signal_id],
          waited: [],
          already: [],
          unknown: [],
        })
        const check = async () => {
          const view = await store.read(signal!.signal_id)
          expect(view).toMatchObject({
            status: 'completed',
            result,
            stages: { drained_at: make.at(-5), confirmed_at: make.at(), completed_at: make.at() },
          })
          expect(view).not.toHaveProperty('leased_to')
          expect(store.leases()).toEqual([])
          expect(await drain()).toEqual([])
        }
        await check()
        store = await opened.afterKill()
        await check()
        store = await opened.afterClose()
        await check()
      })

      test('complete reports unknown ids and those of another persona as unknown', async () => {
        const [mine, carls] = await append({}, { to: 'carl' })
        const strange = [carls!.signal_id, make.id(), 'not an id at all']
        expect(await store.complete('bob', [mine!.signal_id, ...strange], undefined, make.at())).toEqual({
          completed: [mine?.signal_id],
          waited: [mine?.signal_id],
          already: [],
          unknown: strange,
        })
        expect(await status(carls!.signal_id)).toBe('pending')
      })

      test('a second complete changes nothing', async () => {
        const [signal] = await append({})
        const id = signal!.signal_id
        expect(await store.complete('bob', [id, id], 'first', make.at())).toEqual({
          completed: [id],
          waited: [id],
          already: [id],
          unknown: [],
        })
        const before = await store.read(id)
        await clock.advance(1)
        expect(await store.complete('bob', [id], 'second', make.at())).toEqual({
          completed: [],
          waited: [],
          already: [id],
          unknown: [],
        })
        expect(await store.read(id)).toEqual(before)
      })

      test('a pending, dead or expired signal can be completed', async () => {
        const [waiting, over] = await append({}, { expires_at: make.at(1) })
        await store.expire(make.at(1))
        const both = [waiting!.signal_id, over!.signal_id]
        expect(await store.complete('bob', both, null, make.at())).toMatchObject({
          completed: both,
          waited: [waiting!.signal_id],
        })
        expect(await store.read(waiting!.signal_id)).toMatchObject({
          status: 'completed',
          result: null,
          stages: { drained_at: null, confirmed_at: null, completed_at: make.at() },
        })
        expect(store.pendingCount('bob')).toBe(0)
        store = await opened.afterKill()
        expect(await drain()).toEqual([])
      })

      test('complete removes a signal from its lease and keeps the others', async () => {
        const made = await append({}, {})
        const lease = make.lease()
        await drain(2, 'bob', lease)
        await store.complete('bob', [made[0]!.signal_id], undefined, make.at())
        store = await opened.afterKill()
        expect(store.leases()).toMatchObject([{ signal_ids: [made[1]?.signal_id] }])
        expect(await confirm(lease)).toEqual([made[1]?.signal_id])
        expect(await status(made[0]!.signal_id)).toBe('completed')
      })
    })

    describe('expire', () => {
      test('expire ends only overdue pending signals', async () => {
        const [soon, later, leased] = await append(
          { expires_at: make.at(1000) },
          { expires_at: make.at(2000), to: 'carl' },
          { expires_at: make.at(1000), priority: 9 },
        )
        const lease = make.lease()
        await drain(1, 'bob', lease)
        expect((await store.expire(make.at(999))).expired).toEqual([])
        expect((await store.expire(make.at(1000))).expired).toEqual([
          { signal_id: soon?.signal_id, to: 'bob' },
        ])
        expect((await store.expire(make.at(1000))).expired).toEqual([])
        expect(await status(soon!.signal_id)).toBe('expired')
        expect(await status(leased!.signal_id)).toBe('acked')
        store = await opened.afterKill()
        expect(await status(soon!.signal_id)).toBe('expired')
        expect(pending()).toEqual([])
        // Back in the queue, it expires as well.
        await store.release(lease.drain_id)
        expect((await store.expire(make.at(2000))).expired).toEqual([
          { signal_id: later?.signal_id, to: 'carl' },
          { signal_id: leased?.signal_id, to: 'bob' },
        ])
      })

      test('a drain returns overdue signals until expire has run', async () => {
        const [signal] = await append({ expires_at: make.at(1) })
        await clock.advance(1000)
        expect(ids(await drain())).toEqual([signal?.signal_id])
      })
    })

    describe('expire with notices', () => {
      const noticeAbout = (signal: Signal) =>
        make.signal({ to: signal.from, from: 'turnbell', origin: 'system', in_reply_to: signal.signal_id })

      test('notices are stored together with the expiry', async () => {
        const [over, other] = await append({ expires_at: make.at(1) }, {})
        let named: readonly Signal[] = []
        const { expired, notices } = await store.expire(make.at(1), (signals) => {
          named = signals
          return signals.map(noticeAbout)
        })
        expect(named).toEqual([over])
        expect(expired).toEqual([{ signal_id: over?.signal_id, to: 'bob' }])
        expect(notices).toMatchObject([{ seq: 3, repeated: false }])
        store = await opened.afterKill()
        expect(await status(over!.signal_id)).toBe('expired')
        expect(pending('ada')).toEqual(notices.map(({ signal_id }) => signal_id))
        expect(pending()).toEqual([other?.signal_id])
        expect((await store.append(make.signal())).seq).toBe(4)
        expect((await store.expire(make.at(1), (signals) => signals.map(noticeAbout))).notices).toEqual([])
      })

      test('expired signals are counted, and listed until they are marked as notified', async () => {
        const over = await append(
          { expires_at: make.at(1) },
          { expires_at: make.at(1), to: 'carl' },
          { expires_at: make.at(1) },
        )
        await store.expire(make.at(1))
        const ids = over.map((signal) => signal.signal_id)
        const untold = async (limit = 10) =>
          (await store.unnotifiedExpired('bob', limit)).map((one) => one.signal_id)
        expect(await untold()).toEqual([ids[0], ids[2]])
        expect(await untold(1)).toEqual([ids[0]])
        store.mark([ids[0] as string], 'told_at', make.at(2))
        expect(await untold()).toEqual([ids[2]])
        store = await opened.afterClose()
        expect(await untold()).toEqual([ids[2]])
        expect([store.expiredCount('bob'), store.expiredCount('carl'), store.expiredCount('dora')]).toEqual([
          ...[2, 1, 0],
        ])
        await store.replay(ids[0] as string, make.at(2))
        await store.complete('bob', [ids[2] as string], undefined, make.at(2))
        expect(store.expiredCount('bob')).toBe(0)
        expect(await untold()).toEqual([])
        // The replayed signal has a new lifetime and expires again.
        await store.expire(make.at(10 * DAY_MS))
        expect(await untold()).toEqual([ids[0]])
      })
    })

    describe('cancel', () => {
      test('cancel removes a pending signal from the queue for good', async () => {
        const [taken, other] = await append({}, {})
        expect(await store.cancel(taken!.signal_id, make.at(1))).toBe('pending')
        expect(pending()).toEqual([other?.signal_id])
        store = await opened.afterKill()
        expect(await store.read(taken!.signal_id)).toMatchObject({
          status: 'cancelled',
          stages: { cancelled_at: make.at(1), drained_at: null },
        })
        expect(await store.cancel(taken!.signal_id, make.at(2))).toBe('cancelled')
        expect(ids(await drain())).toEqual([other?.signal_id])
        expect(await store.complete('bob', [taken!.signal_id], 'x', make.at(2))).toMatchObject({
          completed: [],
          unknown: [taken?.signal_id],
        })
        expect((await store.expire(make.at(400 * DAY_MS))).expired).toEqual([])
      })

      test('cancel skips a drained or unknown signal', async () => {
        const [signal] = await append({})
        await drain()
        expect(await store.cancel(signal!.signal_id, make.at())).toBe('acked')
        expect(await store.cancel(make.id(), make.at())).toBeNull()
        expect(await status(signal!.signal_id)).toBe('acked')
      })

      test('a signal cancelled after its release is not found by a late confirm', async () => {
        const [signal] = await append({})
        const lease = make.lease()
        await drain(1, 'bob', lease)
        await store.release(lease.drain_id)
        await store.cancel(signal!.signal_id, make.at())
        store = await opened.afterKill()
        expect(await confirm(lease)).toEqual([])
        expect(await status(signal!.signal_id)).toBe('cancelled')
      })

      test('a cancelled signal can be replayed, and is forgotten like a finished one', async () => {
        const [again, over] = await append({}, {})
        for (const signal of [again, over]) await store.cancel(signal!.signal_id, make.at())
        expect(await store.replay(again!.signal_id, make.at())).toBe(true)
        expect(pending()).toEqual([again?.signal_id])
        await store.compact(make.at(7 * DAY_MS + 1))
        expect(await store.read(over!.signal_id)).toBeNull()
        expect((await store.read(again!.signal_id))?.stages.cancelled_at).toBeUndefined()
      })
    })

    describe('replay', () => {
      test('a replayed dead or finished signal is pending as if it were new', async () => {
        const [confirmed, completed, expired, dying] = await append(
          { priority: 9 },
          { priority: 8 },
          { priority: 7, expires_at: make.at(1) },
          {},
        )
        const all = [confirmed, completed, expired, dying].map((signal) => signal!.signal_id)
        await store.expire(make.at(1))
        for (let delivery = 1; delivery <= 6; delivery += 1) {
          const lease = make.lease()
          await store.complete('bob', [completed!.signal_id], 'a result', make.at())
          await drain(3, 'bob', lease)
          if (delivery === 1) {
            await store.releaseSignals('bob', [{ signal_id: dying!.signal_id, drain_id: lease.drain_id }])
          }
          if (delivery === 1) await store.confirm(lease.drain_id, make.at())
          else await store.release(lease.drain_id)
          if (delivery === 1) await store.replay(dying!.signal_id, make.at())
        }
        store.mark(all, 'pushed_at', make.at())
        const dead = make.lease()
        while ((await status(dying!.signal_id)) !== 'dead') {
          await drain(1, 'bob', dead)
          await store.release(dead.drain_id)
        }
        for (const signal_id of all) expect(await store.replay(signal_id, make.at(DAY_MS))).toBe(true)
        const check = async () => {
          expect(pending()).toEqual(all)
          const view = await store.read(completed!.signal_id)
          expect(view).toMatchObject({ status: 'pending', deliveries: 0, expires_at: make.at(2 * DAY_MS) })
          // The same lifetime as originally, also after an earlier replay.
          expect(await store.read(dying!.signal_id)).toMatchObject({ expires_at: make.at(2 * DAY_MS) })
          expect(await store.read(expired!.signal_id)).toMatchObject({ expires_at: make.at(DAY_MS + 1) })
          expect(view).not.toHaveProperty('result')
          expect(view?.stages).toEqual({
            created_at: completed?.created_at,
            pushed_at: null,
            rung_at: null,
            seen_at: null,
            drained_at: null,
            confirmed_at: null,
            completed_at: null,
          })
        }
        await check()
        store = await opened.afterKill()
        await check()
        expect((await store.expire(make.at(DAY_MS))).expired).toEqual([])
        const [again] = await drain(1)
        expect(again).toMatchObject({ deliveries: 1, signal: { expires_at: make.at(2 * DAY_MS) } })
      })

      test('replay skips a pending, leased or unknown signal', async () => {
        const [leased, waiting] = await append({ priority: 9 }, {})
        const lease = make.lease()
        await drain(1, 'bob', lease)
        for (const signal_id of [leased!.signal_id, waiting!.signal_id, make.id()]) {
          expect(await store.replay(signal_id, make.at(9 * DAY_MS))).toBe(false)
        }
        expect(store.leases()).toHaveLength(1)
        expect(await store.read(waiting!.signal_id)).toMatchObject({ expires_at: waiting?.expires_at })
      })

      test('an old confirm does not include a replayed signal', async () => {
        const [signal] = await append({ expires_at: make.at(1) })
        const lease = make.lease()
        await drain(1, 'bob', lease)
        await store.release(lease.drain_id)
        await store.expire(make.at(1))
        await store.replay(signal!.signal_id, make.at(DAY_MS))
        expect(await confirm(lease)).toEqual([])
        expect(pending()).toEqual([signal?.signal_id])
      })
    })

    describe('mark', () => {
      test('mark records a stage once; unknown ids are not an error', async () => {
        const [signal] = await append({})
        store.mark([signal!.signal_id, make.id()], 'pushed_at', make.at(10))
        store.mark([signal!.signal_id], 'pushed_at', make.at(20))
        store.mark([signal!.signal_id], 'seen_at', make.at(15))
        const stages = {
          created_at: make.at(),
          pushed_at: make.at(10),
          rung_at: null,
          seen_at: make.at(15),
          drained_at: null,
          confirmed_at: null,
          completed_at: null,
        }
        expect((await store.read(signal!.signal_id))?.stages).toEqual(stages)
        store = await opened.afterClose()
        expect((await store.read(signal!.signal_id))?.stages).toEqual(stages)
      })

      test('a time before the creation is moved to it, and one a year later is kept', async () => {
        const [signal] = await append({ expires_at: make.at(400 * DAY_MS) })
        store.mark([signal!.signal_id], 'pushed_at', make.at(-5000))
        store.mark([signal!.signal_id], 'rung_at', make.at(365 * DAY_MS))
        store = await opened.afterClose()
        expect(await store.read(signal!.signal_id)).toMatchObject({
          expires_at: make.at(400 * DAY_MS),
          stages: { pushed_at: make.at(), rung_at: make.at(365 * DAY_MS) },
        })
      })

      test('a late reported stage is never after a later stage', async () => {
        const [signal] = await append({})
        const { signal_id } = signal!
        store.mark([signal_id], 'seen_at', make.at(20))
        store.mark([signal_id], 'rung_at', make.at(30))
        store.mark([signal_id], 'pushed_at', make.at(25))
        const lease = make.lease()
        await store.drain('bob', { ...lease, limit: 1, now: make.at(10) })
        await store.confirm(lease.drain_id, make.at(15))
        await store.complete('bob', [signal_id], undefined, make.at(50))
        const check = async () =>
          expect((await store.read(signal_id))?.stages).toEqual({
            created_at: make.at(),
            ...{ pushed_at: make.at(20), rung_at: make.at(20), seen_at: make.at(20) },
            ...{ drained_at: make.at(20), confirmed_at: make.at(20), completed_at: make.at(50) },
          })
        await check()
        store = await opened.afterClose()
        await check()
      })

      test('a signal seen only by its drain was seen at the time of the drain', async () => {
        const [signal] = await append({})
        await store.drain('bob', { ...make.lease(), limit: 1, now: make.at(10) })
        store.mark([signal!.signal_id], 'seen_at', make.at(40))
        const { seen_at, drained_at } = (await store.read(signal!.signal_id))!.stages
        expect([seen_at, drained_at]).toEqual([make.at(10), make.at(10)])
      })
    })

    describe('read and query', () => {
      test('read returns null for an unknown signal', async () => {
        expect(await store.read(make.id())).toBeNull()
        expect(await store.read('no id')).toBeNull()
      })

      test('a query returns the newest first, before a position, up to a limit', async () => {
        await append(...Array.from({ length: 7 }, (_, place) => ({ payload: place })))
        const seqs = async (query: Parameters<SignalStore['query']>[0]) =>
          (await store.query(query)).signals.map(({ seq }) => seq)
        expect(await seqs({ limit: 3 })).toEqual([7, 6, 5])
        expect(await seqs({ limit: 3, before_seq: 5 })).toEqual([4, 3, 2])
        expect(await seqs({ limit: 3, before_seq: 1 })).toEqual([])
        expect(await seqs({ limit: 100 })).toEqual([7, 6, 5, 4, 3, 2, 1])
      })

      test('a page ends before its byte limit, contains at least one signal, and returns where to continue', async () => {
        await append({ payload: 'x' }, { payload: 'y'.repeat(3000) }, {}, { payload: 'z'.repeat(2000) })
        const pages = async (query: Parameters<SignalStore['query']>[0]) => {
          const seqs: number[][] = []
          for (let before_seq = Infinity; ;) {
            const page = await store.query({ ...query, before_seq })
            seqs.push(page.signals.map(({ seq }) => seq))
            if (page.next === null) return seqs
            before_seq = page.next
          }
        }
        const check = async () => {
          expect(await pages({ limit: 10, bytes_max: 1 })).toEqual([[4], [3], [2], [1]])
          expect(await pages({ limit: 10, bytes_max: 3500 })).toEqual([[4, 3], [2], [1]])
          expect(await pages({ limit: 10, bytes_max: 100_000 })).toEqual([[4, 3, 2, 1]])
          expect(await pages({ limit: 3 })).toEqual([[4, 3, 2], [1]])
          expect(await pages({ limit: 4 })).toEqual([[4, 3, 2, 1]])
          expect(await pages({ limit: 1, to: 'nobody' })).toEqual([[]])
        }
        await check()
        store = await opened.afterKill()
        await check()
      })

      test('every condition of a query narrows the result', async () => {
        const question = make.id()
        const [, reply] = await append(
          { from: 'carl' },
          { from: 'carl', to: 'ada', in_reply_to: question },
          { from: 'dora', in_reply_to: make.id() },
          {},
        )
        const seqs = async (query: Omit<Parameters<SignalStore['query']>[0], 'limit'>) =>
          (await store.query({ ...query, limit: 10 })).signals.map(({ seq }) => seq)
        const check = async () => {
          expect(await seqs({ to: 'bob' })).toEqual([4, 3, 1])
          expect(await seqs({ from: 'carl' })).toEqual([2, 1])
          expect(await seqs({ from: 'carl', to: 'bob' })).toEqual([1])
          expect(await seqs({ in_reply_to: question })).toEqual([2])
          expect(await seqs({ status: ['completed'] })).toEqual([2])
          expect(await seqs({ status: ['completed', 'pending'] })).toEqual([4, 3, 2, 1])
          expect(await seqs({ status: [] })).toEqual([])
          expect(await seqs({ to: 'nobody' })).toEqual([])
        }
        await store.complete('ada', [reply!.signal_id], undefined, make.at())
        await check()
        store = await opened.afterKill()
        await check()
      })

      test('a query by lease returns only what the session still holds', async () => {
        await append({}, {}, {}, {})
        const [confirmed, returned, held] = [make.lease('s-1'), make.lease('s-1'), make.lease('s-1')]
        for (const lease of [confirmed, returned, held, make.lease('s-2')]) await drain(1, 'bob', lease)
        await store.confirm(confirmed.drain_id, make.at())
        await store.release(returned.drain_id)
        const check = async () => {
          const { signals: found } = await store.query({ leased_to: 's-1', limit: 10 })
          expect(found.map(({ seq, drain_id }) => ({ seq, drain_id }))).toEqual([
            { seq: 3, drain_id: held.drain_id },
          ])
          expect(await store.query({ leased_to: 's-3', limit: 10 })).toEqual({ signals: [], next: null })
        }
        await check()
        store = await opened.afterKill()
        await check()
      })

      test('pendingCounts contains only personas with pending signals', async () => {
        await append({}, {}, { to: 'carl' }, { to: 'dora' })
        await drain(1, 'carl')
        const depths = [
          ['bob', 2],
          ['dora', 1],
        ]
        expect([...store.pendingCounts()].sort()).toEqual(depths)
        store = await opened.afterKill()
        expect([...store.pendingCounts()].sort()).toEqual(depths)
      })
    })

    describe('compact', () => {
      const WEEK_MS = 7 * DAY_MS

      test('compact forgets signals that have been finished for longer than the retention', async () => {
        const [confirmed, completed, expired, leased, waiting] = await append(
          { priority: 9, payload: 'confirmed' },
          { priority: 8, payload: 'completed' },
          { priority: 7, payload: 'expired', expires_at: make.at(1) },
          { priority: 6, payload: 'leased' },
          { payload: 'waiting' },
        )
        await store.expire(make.at(1))
        const first = make.lease()
        await drain(1, 'bob', first)
        await store.confirm(first.drain_id, make.at(1))
        await store.complete('bob', [completed!.signal_id], 'result', make.at(1))
        await drain(1, 'bob', make.lease('s-2'))

        expect(await store.compact(make.at(WEEK_MS + 1))).toEqual({ forgotten: 0 })
        expect(await store.compact(make.at(WEEK_MS + 2))).toEqual({ forgotten: 3 })
        expect(await store.compact(make.at(WEEK_MS + 2))).toEqual({ forgotten: 0 })
        const check = async () => {
          for (const gone of [confirmed, completed, expired]) {
            expect(await store.read(gone!.signal_id)).toBeNull()
          }
          expect((await store.query({ limit: 10 })).signals.map(({ payload }) => payload)).toEqual([
            'waiting',
            'leased',
          ])
          expect(store.health()).toMatchObject({ signals: 2, pending: 1, last_seq: 5 })
          expect(store.leases()).toMatchObject([{ session_id: 's-2', signal_ids: [leased?.signal_id] }])
          expect(pending()).toEqual([waiting?.signal_id])
          expect((await store.complete('bob', [completed!.signal_id], 1, make.at())).unknown).toHaveLength(1)
          expect(await store.replay(expired!.signal_id, make.at())).toBe(false)
        }
        await check()
        store = await opened.afterKill()
        await check()
        store = await opened.afterClose()
        await check()
      })

      test('forgetting the newest signals repeats no seq and no id', async () => {
        const [signal] = await append({})
        await store.complete('bob', [signal!.signal_id], undefined, make.at())
        await store.compact(make.at(WEEK_MS + 1))
        store = await opened.afterClose()
        expect(store.health()).toMatchObject({ signals: 0, last_seq: 1, last_signal_id: signal?.signal_id })
        expect((await store.append(make.signal())).seq).toBe(2)
      })

      test('a signal with a valid idempotency key is kept', async () => {
        const [signal] = await append({ idempotency_key: 'k', expires_at: make.at(1) })
        await store.expire(make.at(1))
        // Finished long ago by its own time, but created less than a day ago.
        clock.setBack(-10)
        const old = make.signal({ expires_at: make.at(-9 * DAY_MS), idempotency_key: 'k2' })
        await store.append(old)
        await store.expire(make.at())
        expect(await store.compact(make.at())).toEqual({ forgotten: 0 })
        expect(await store.append(make.signal({ idempotency_key: 'k2' }))).toMatchObject({ repeated: true })
        expect(await store.compact(make.at(8 * DAY_MS))).toEqual({ forgotten: 2 })
        expect(await store.append(make.signal({ idempotency_key: 'k' }))).toMatchObject({ repeated: false })
        expect(await status(signal!.signal_id)).toBeUndefined()
      })
    })

    describe('health and close', () => {
      test('health counts the stored signals', async () => {
        expect(store.health()).toEqual({
          writable: true,
          reason: null,
          hint: null,
          signals: 0,
          pending: 0,
          last_seq: 0,
          last_signal_id: null,
        })
        const made = await append({}, {}, { to: 'carl' })
        await drain(1)
        expect(store.health()).toEqual({
          writable: true,
          reason: null,
          hint: null,
          signals: 3,
          pending: 2,
          last_seq: 3,
          last_signal_id: made[2]?.signal_id,
        })
      })

      test('a closed store rejects every change', async () => {
        const [signal] = await append({})
        await store.close()
        const id = signal!.signal_id
        const refused = { code: 'store_unavailable' }
        await expect(store.append(make.signal())).rejects.toMatchObject(refused)
        await expect(store.appendAll([make.signal()])).rejects.toMatchObject(refused)
        await expect(drain()).rejects.toMatchObject(refused)
        await expect(store.confirm(make.id(), make.at())).rejects.toMatchObject(refused)
        await expect(store.release(make.id())).rejects.toMatchObject(refused)
        await expect(
          store.releaseSignals('bob', [{ signal_id: id, drain_id: make.id() }]),
        ).rejects.toMatchObject(refused)
        await expect(store.complete('bob', [id], 1, make.at())).rejects.toMatchObject(refused)
        await expect(store.markNotified([id])).rejects.toMatchObject(refused)
        await expect(store.expire(make.at())).rejects.toMatchObject(refused)
        await expect(store.replay(id, make.at())).rejects.toMatchObject(refused)
        await expect(store.compact(make.at())).rejects.toMatchObject(refused)
        expect(store.health()).toMatchObject({ writable: false })
      })

      test('calls made before the close are stored', async () => {
        const signals = Array.from({ length: 50 }, () => make.signal())
        const appended = Promise.all(signals.map((signal) => store.append(signal)))
        store = await opened.afterClose()
        await appended
        expect(pending()).toEqual(signals.map(({ signal_id }) => signal_id))
      })

      test('a returned signal may be changed without changing the stored one', async () => {
        const [signal] = await append({ payload: { list: [1] } })
        const [drained] = await drain()
        ;(drained!.signal.payload as { list: number[] }).list.push(2)
        drained!.signal.intent = 'changed'
        expect(await store.read(signal!.signal_id)).toMatchObject({ intent: 'note', payload: { list: [1] } })
      })
    })
  })
}
