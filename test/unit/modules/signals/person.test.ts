/** Tests the operator as a sender and a receiver, and what a sender may still do with a sent signal. */
import { describe, expect, test } from 'vitest'
import { agent, daemon, OPERATOR, signalWorld } from '../../../support/worlds/signal-world.ts'
import { playedAnswer } from '../../../support/fakes/fake-answers.ts'
import { RECEIVED } from '../../../../src/ports/sent-answer.ts'
import { SendInput } from '../../../../src/contracts/signal.ts'

const BOB = agent('bob', 's1')
const DAY_S = 86_400
const DAY_MS = DAY_S * 1000

const broadcastInput = (more: object = {}) => ({ intent: 'note', payload: 1, priority: 3, ...more })

describe('the operator as an addressee', () => {
  test('the operator always exists: it can receive signals and be named in reply_to, and its route shows that it cannot be rung', async () => {
    const world = await signalWorld()
    const receipt = await world.send({ to: 'operator', reply_to: 'operator', payload: 'done' }, BOB)
    expect(receipt).toMatchObject({
      status: 'pending',
      route: { live: false, reason: 'no_binding' },
    })
    expect(world.store.pendingCount('operator')).toBe(1)
    expect(world.personas.list().map(({ identity }) => identity)).not.toContain('operator')
    await expect(world.send({ to: 'operator', require_live: true }, BOB)).rejects.toMatchObject({
      code: 'target_not_routable',
    })
  })

  test('the operator drains its inbox under a lease that only its own confirm makes final', async () => {
    const world = await signalWorld()
    await world.send({ to: 'operator', payload: 'one' }, BOB)
    await world.send({ to: 'bob' })
    const first = await world.drain(OPERATOR, {}, RECEIVED)
    expect(first.signals).toMatchObject([{ from: 'bob', origin: 'agent', payload: 'one' }])
    // A later drain does not confirm the first one, which may never have been shown.
    await world.drain(OPERATOR, {}, RECEIVED)
    expect((await world.store.read(first.signals[0]!.signal_id))?.leased_to).toBeDefined()
    await world.drain(OPERATOR, { confirm: first.drain_id!, peek: true })
    expect(await world.store.read(first.signals[0]!.signal_id)).toMatchObject({ status: 'acked' })
    expect(world.store.leases()).toEqual([])
    expect(world.store.pendingCount('bob')).toBe(1)
  })

  test('the operator receives the reply to its signal, and the ack reports the recipient', async () => {
    const world = await signalWorld()
    const asked = await world.send({ to: 'bob', reply_to: 'operator' }, OPERATOR)
    const told = await world.send({ to: 'bob' }, OPERATOR)
    await world.drain(BOB)
    const signal_ids = [asked.signal_id, told.signal_id]
    const outcome = await world.signals.ack(BOB, { signal_ids, result: 'yes' })
    const { signals } = await world.drain(OPERATOR, { peek: true })
    expect(signals).toMatchObject([{ from: 'bob', origin: 'agent', intent: 'reply', payload: 'yes' }])
    expect(outcome).toMatchObject({
      completed: signal_ids,
      replied: [{ signal_id: asked.signal_id, to: 'operator', reply_id: signals[0]?.signal_id }],
      not_replied: [{ signal_id: told.signal_id, reason: 'no_reply_to' }],
    })
  })

  test.each([{}, { result: 'done by hand' }])(
    "the operator's ack of its own request sends no reply: %j",
    async (said) => {
      const world = await signalWorld()
      const { signal_id } = await world.send({ to: 'bob', reply_to: 'operator' }, OPERATOR)
      expect(await world.signals.ack(OPERATOR, { signal_ids: [signal_id], ...said })).toMatchObject({
        completed: [signal_id],
        replied: [],
        not_replied: [{ signal_id, reason: 'reply_to_self' }],
      })
      expect((await world.drain(OPERATOR, { peek: true })).signals).toEqual([])
      expect(await world.store.read(signal_id)).toMatchObject({ status: 'completed', ...said })
    },
  )

  test("a full queue of the operator does not block an agent's ack", async () => {
    const world = await signalWorld({
      spy: (store) => ({
        ...store,
        pendingCount: (to) => (to === 'operator' ? 10_000 : store.pendingCount(to)),
      }),
    })
    const { signal_id } = await world.send({ to: 'bob', reply_to: 'operator' })
    await world.drain(BOB)
    expect(await world.signals.ack(BOB, { signal_ids: [signal_id], result: 1 })).toMatchObject({
      completed: [signal_id],
      not_replied: [{ signal_id, reason: 'queue_full' }],
    })
  })

  test('the operator cannot be a persona, and only its own token sends as a human', async () => {
    const world = await signalWorld()
    await expect(world.personas.add({ identity: 'operator', surface: 'mcp' })).rejects.toMatchObject({
      code: 'params_invalid',
    })
    for (const [forged, code] of [
      [agent('operator'), 'params_invalid'],
      [daemon('operator'), 'kind_forbidden'],
    ] as const) {
      await expect(world.send({ to: 'bob' }, forged)).rejects.toMatchObject({ code })
      await expect(world.drain(forged)).rejects.toMatchObject({ code })
    }
    await expect(world.send({ to: 'bob', from: 'operator' }, BOB)).rejects.toMatchObject({
      code: 'identity_mismatch',
    })
    const { signal_id } = await world.send({ to: 'bob' }, OPERATOR)
    expect(await world.signals.read(OPERATOR, signal_id)).toMatchObject({ origin: 'human' })
  })
})

describe('reply_to', () => {
  test('reply_to is checked at the send: an unknown name is rejected with the nearest known name', async () => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'carol'] })
    await world.personas.wrap('carol')
    for (const [reply_to, code] of [
      ['alise', 'target_unknown'],
      ['turnbell', 'target_unknown'],
      ['carol', 'target_wrapped'],
    ] as const) {
      await expect(world.send({ to: 'bob', reply_to })).rejects.toMatchObject({ code })
      const input = broadcastInput({ reply_to })
      await expect(world.signals.broadcast(agent('alice'), input)).rejects.toMatchObject({ code })
    }
    await expect(world.send({ to: 'bob', reply_to: 'alise' })).rejects.toMatchObject({
      hint: 'Did you mean alice?',
    })
    await expect(world.send({ to: 'bobb' })).rejects.toMatchObject({ hint: 'Did you mean bob?' })
    expect(world.store.health().signals).toBe(0)
  })
})

describe('a cancel', () => {
  test('a cancel removes a pending signal and publishes that it left the queue', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    const done = { signal_id, to: 'bob', status: 'cancelled' }
    expect(await world.signals.cancel(agent('alice'), signal_id)).toEqual(done)
    expect(await world.signals.cancel(OPERATOR, signal_id)).toEqual(done)
    expect(world.toldOf('signals.cancelled')).toEqual([
      { to: 'bob', by: 'alice', signal_ids: [signal_id], pending_count: 0 },
    ])
    expect((await world.drain(BOB)).signals).toEqual([])
    expect(await world.signals.ack(BOB, { signal_ids: [signal_id], result: 1 })).toMatchObject({
      unknown: [signal_id],
      replied: [],
      not_replied: [],
    })
    expect(await world.signals.read(BOB, signal_id)).toMatchObject({ status: 'cancelled' })
  })

  test('a cancel is rejected after the signal was drained, expired or completed', async () => {
    const world = await signalWorld()
    const drained = await world.send({ to: 'bob' })
    await world.drain(BOB)
    const over = await world.send({ to: 'bob', ttl_s: 1 })
    await world.clock.advance(1_000)
    await world.signals.sweep()
    for (const { signal_id } of [drained, over]) {
      await expect(world.signals.cancel(OPERATOR, signal_id)).rejects.toMatchObject({ code: 'signal_taken' })
    }
    expect(await world.signals.read(BOB, drained.signal_id)).toMatchObject({ status: 'acked' })
  })

  test('only the sender and the operator may cancel a signal', async () => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'carol'] })
    const { signal_id } = await world.send({ to: 'bob' })
    for (const [caller, code] of [
      [BOB, 'identity_mismatch'],
      [agent('carol'), 'signal_unknown'],
      [daemon('alice'), 'kind_forbidden'],
    ] as const) {
      await expect(world.signals.cancel(caller, signal_id)).rejects.toMatchObject({ code })
    }
    expect(world.store.pendingCount('bob')).toBe(1)
  })

  test('a cancelled signal is replayed by its sender or the operator, not by its recipient', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    await world.signals.cancel(OPERATOR, signal_id)
    expect(await world.signals.replay(BOB, { signal_ids: [signal_id] })).toMatchObject({
      unknown: [signal_id],
    })
    expect(await world.signals.replay(agent('alice'), { signal_ids: [signal_id] })).toMatchObject({
      replayed: [signal_id],
    })
    expect((await world.drain(BOB)).signals).toMatchObject([{ signal_id }])
  })
})

describe('expiry', () => {
  test('a signal from or to a person lives 30 days, and between agents one day or the configured time', async () => {
    const lifetime_s = async (
      receipt: { signal_id: string },
      world: Awaited<ReturnType<typeof signalWorld>>,
    ) => {
      const view = await world.signals.read(OPERATOR, receipt.signal_id)
      return (Date.parse(view.expires_at) - Date.parse(view.stages.created_at)) / 1000
    }
    const world = await signalWorld()
    const lives = [
      ...[await world.send({ to: 'bob' }), await world.send({ to: 'bob' }, OPERATOR)],
      ...[await world.send({ to: 'operator' }), await world.send({ to: 'bob', ttl_s: 5 }, OPERATOR)],
    ]
    expect(await Promise.all(lives.map((receipt) => lifetime_s(receipt, world)))).toEqual([
      ...[DAY_S, 30 * DAY_S, 30 * DAY_S, 5],
    ])
    const configured = await signalWorld({ ttl_s: 60 })
    expect(await lifetime_s(await configured.send({ to: 'bob' }), configured)).toBe(60)
    expect(SendInput.parse({ to: 'bob', intent: 'x' }).ttl_s).toBeUndefined()
  })

  test('an expiry sends one notice of lowest priority to the sender and to reply_to, and notices cause no further notices', async () => {
    const world = await signalWorld({ personas: ['alice', 'bob', 'carol'] })
    const { signal_id } = await world.send({ to: 'bob', ttl_s: 10, reply_to: 'carol' })
    await world.clock.advance(10_000)
    await world.signals.sweep()
    await world.signals.sweep()
    const next = await world.restart()
    await next.signals.sweep()
    for (const caller of [agent('alice'), agent('carol')]) {
      expect((await next.drain(caller)).signals).toMatchObject([
        {
          from: 'turnbell',
          origin: 'system',
          intent: 'expired',
          priority: 0,
          in_reply_to: signal_id,
          payload: { total: 1, signals: [{ signal_id, to: 'bob', intent: 'note' }] },
        },
      ])
    }
    expect(world.toldOf('signals.pushed').filter(({ from }) => from === 'turnbell')).toHaveLength(2)
    // The notices expire as well, without another notice.
    await next.signals.replay(OPERATOR, { signal_ids: [signal_id] })
    await next.clock.advance(40 * DAY_MS)
    await next.signals.sweep()
    await next.clock.advance(40 * DAY_MS)
    await next.signals.sweep()
    expect(next.toldOf('signals.pushed').filter(({ from }) => from === 'turnbell')).toHaveLength(2)
  })

  test('the expiry of a broadcast sends one notice, and so does the expiry of very many signals', async () => {
    const names = Array.from({ length: 15 }, (_, at) => `p${at}`)
    const world = await signalWorld({ personas: ['alice', ...names] })
    await world.signals.broadcast(agent('alice'), broadcastInput({ ttl_s: 10 }))
    await world.clock.advance(10_000)
    await world.signals.sweep()
    const [notice, ...more] = (await world.drain(agent('alice'))).signals
    expect(more).toEqual([])
    expect(notice?.payload).toMatchObject({ total: 15 })
    for (const to of names) await world.send({ to, ttl_s: 10 })
    await world.clock.advance(10_000)
    await world.signals.sweep()
    expect((await world.drain(agent('alice'))).signals).toMatchObject([{ payload: { total: 15 } }])
  })

  test('an expired signal is listed once in the next drain of its recipient, also after a restart', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob', ttl_s: 10, intent: 'deploy' })
    await world.clock.advance(10_000)
    await world.signals.sweep()
    const next = await world.restart()
    const expired = [{ signal_id, from: 'alice', intent: 'deploy', expired_at: '2026-03-01T12:00:10.000Z' }]
    expect(await next.drain(BOB, {}, playedAnswer('broken'))).toEqual({
      signals: [],
      remaining: 0,
      drain_id: null,
      expired,
    })
    expect((await next.drain(BOB)).expired).toEqual(expired)
    expect((await next.drain(BOB)).expired).toBeUndefined()
    expect(next.signals.expiredCount('bob')).toBe(1)
    expect(next.personas.list().find(({ identity }) => identity === 'bob')?.expired_count).toBe(1)
    await next.signals.replay(BOB, { signal_ids: [signal_id] })
    expect(next.signals.expiredCount('bob')).toBe(0)
    expect((await next.drain(BOB)).signals).toMatchObject([{ signal_id }])
  })
})

describe('a broadcast without recipients', () => {
  const projects = async () => {
    const world = await signalWorld({ personas: [] })
    for (const [identity, project] of [
      ['alice', '/work/shop'],
      ['bob', '/work/shop'],
      ['carol', '/work/blog'],
      ['dora', undefined],
      ['emil', undefined],
    ] as const) {
      await world.personas.add({
        identity,
        surface: 'command',
        ...(project === undefined ? {} : { project }),
      })
    }
    return world
  }
  const reached = async (
    world: Awaited<ReturnType<typeof projects>>,
    result: { receipts: { signal_id: string }[] },
  ) => {
    const views = await Promise.all(result.receipts.map(({ signal_id }) => world.store.read(signal_id)))
    return views.map((view) => view?.to)
  }

  test("a broadcast without recipients reaches the personas of the sender's project, and all personas only with all_projects", async () => {
    const world = await projects()
    const told = (who: string, more: object = {}) =>
      world.signals.broadcast(agent(who), broadcastInput(more)).then((result) => reached(world, result))
    expect(await told('alice')).toEqual(['bob'])
    expect(await told('dora')).toEqual(['emil'])
    expect(await told('alice', { all_projects: true })).toEqual(['bob', 'carol', 'dora', 'emil'])
    const project_id = world.personas.get('alice')?.project_id
    const operators = await world.signals.broadcast(OPERATOR, broadcastInput({ project_id }))
    expect(await reached(world, operators)).toEqual(['alice', 'bob'])
    expect(await world.signals.broadcast(agent('carol'), broadcastInput())).toMatchObject({
      receipts: [],
      note: expect.stringContaining('all_projects') as string,
    })
  })

  test('a broadcast under the key of another request is rejected and stores nothing', async () => {
    const world = await projects()
    const idempotency_key = 'k'
    const first = broadcastInput({ idempotency_key, to: ['bob', 'carol'] })
    const before = await world.signals.broadcast(agent('alice'), first)
    const others = [
      { payload: 2 },
      { intent: 'other' },
      ...[{ to: ['bob'] }, { to: ['dora'] }, { to: undefined }, { all_projects: true, to: undefined }],
    ]
    for (const hub of [world, await world.restart()]) {
      for (const other of others) {
        await expect(hub.signals.broadcast(agent('alice'), { ...first, ...other })).rejects.toMatchObject({
          code: 'idempotency_key_reused',
        })
      }
      const again = { ...first, to: ['carol', 'bob', 'carol'] }
      expect((await hub.signals.broadcast(agent('alice'), again)).broadcast_id).toBe(before.broadcast_id)
      expect(hub.store.health().signals).toBe(2)
    }
  })
})
