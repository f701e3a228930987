import { describe, expect, test } from 'vitest'
import { HistoryInput, LogInput, StatusInput } from '../../../../src/contracts/coordination.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { Caller } from '../../../../src/contracts/token.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { coordinatorWorld, type CoordinatorWorld } from '../../../support/worlds/coordinator-world.ts'
import { atRest } from '../../../support/fakes/fake-clock.ts'
import { agent, daemon, observer, OPERATOR } from '../../../support/worlds/signal-world.ts'
import { unsureRecords } from '../../../support/disk/unsure-records.ts'

const alice = agent('alice', 'run-1')
const bob = agent('bob', 'run-1')
const codeOf = async (attempt: () => unknown): Promise<string> => {
  try {
    await attempt()
  } catch (error) {
    return error instanceof TurnbellError ? error.code : `bug: ${String(error)}`
  }
  return 'accepted'
}
const log = (world: CoordinatorWorld, caller: Caller, message: string, more: Partial<LogInput> = {}) =>
  world.coordinator.log(caller, null, LogInput.parse({ message, ...more }))
const history = (world: CoordinatorWorld, query: Partial<HistoryInput> = {}, caller: Caller = OPERATOR) =>
  world.coordinator.history(caller, HistoryInput.parse(query))

describe('the status of agents', () => {
  test("registrations and heartbeats appear in the status, with the agent's locks and blockings", async () => {
    const world = await coordinatorWorld()
    await world.coordinator.register(alice, { purpose: 'the parser', capabilities: ['typescript'] })
    await world.lock(alice, 'src/parser', { scope: 'tree' })
    await world.coordinator.block(bob, { identity: 'alice', reason: 'the schema moves' })
    await world.clock.advance(1_000)
    const view = {
      identity: 'alice',
      surface: 'mcp',
      session_id: 'run-1',
      kind: 'agent',
      purpose: 'the parser',
      capabilities: ['typescript'],
      note: 'tests run',
      progress: 60,
      last_heartbeat_at: '2026-03-01T12:00:01.000Z',
      locks: ['src/parser'],
      blocked_by: ['bob'],
    }
    expect(await world.coordinator.heartbeat(alice, { note: 'tests run', progress: 60 })).toEqual(view)
    expect(world.status(bob)).toMatchObject({
      agents: [view],
      locks: [{ identity: 'alice', resource: 'src/parser', scope: 'tree', epoch: 1 }],
      blockings: [{ blocker: 'bob', blocked: 'alice', reason: 'the schema moves' }],
      totals: { agents: 1, locks: 1, blockings: 1 },
      as_of: '2026-03-01T12:00:01.000Z',
    })
  })

  test('the status lists daemons as well as agents, and a lock only with the session that holds it', async () => {
    const world = await coordinatorWorld()
    const holder = { lose: () => undefined }
    const join = (kind: 'agent' | 'daemon', session_id: string) =>
      world.registrations.join({ identity: 'alice', surface: 'command', kind, session_id, holder })
    join('daemon', 'd-1')
    join('agent', 'run-9')
    await world.coordinator.register(alice, {})
    await world.lock(alice, 'deploy')
    const locks = world.status().agents.map(({ kind, session_id, locks: held }) => [kind, session_id, held])
    expect(locks.sort()).toEqual([
      ['agent', 'run-1', ['deploy']],
      ['agent', 'run-9', []],
      ['daemon', 'd-1', []],
    ])
  })

  test('only an agent may register, and only itself', async () => {
    const world = await coordinatorWorld()
    for (const caller of [OPERATOR, daemon('alice'), observer('alice')]) {
      expect(await codeOf(() => world.coordinator.register(caller, {}))).toBe('kind_forbidden')
      expect(await codeOf(() => world.coordinator.heartbeat(caller, {}))).toBe('kind_forbidden')
    }
    await world.personas.wrap('alice')
    expect(await codeOf(() => world.coordinator.heartbeat(alice, {}))).toBe('persona_wrapped')
  })

  test('the first registration of an agent creates its persona', async () => {
    const world = await coordinatorWorld()
    await world.coordinator.register(agent('dora'), {})
    expect(world.personas.get('dora')).toMatchObject({ state: 'active' })
    expect(world.status().agents).toMatchObject([{ identity: 'dora', session_id: 'anonymous:dora' }])
  })

  test('the status is limited to one persona or to the requested number, latest heartbeat first', async () => {
    const world = await coordinatorWorld()
    for (const caller of [alice, bob, agent('cyd')]) {
      await world.coordinator.register(caller, {})
      await world.lock(caller, `of-${caller.identity}`)
      await world.clock.advance(1)
    }
    const short = world.coordinator.status(alice, StatusInput.parse({ limit: 1 }))
    expect(short).toMatchObject({
      agents: [{ identity: 'cyd' }],
      locks: [{ identity: 'alice' }],
      totals: { agents: 3, locks: 3 },
    })
    const one = world.coordinator.status(alice, StatusInput.parse({ identity: 'bob' }))
    expect(one).toMatchObject({
      agents: [{ identity: 'bob' }],
      locks: [{ identity: 'bob' }],
      totals: { agents: 1 },
    })
  })

  test('the status fits a frame', async () => {
    const world = await coordinatorWorld()
    const purpose = 'n'.repeat(LIMITS.note_length_max)
    for (let n = 0; n < LIMITS.status_limit_max / 2; n += 1) {
      const caller = agent(`agent-${n}`)
      await world.coordinator.register(caller, { purpose })
      await world.lock(caller, `${n}`.padEnd(LIMITS.resource_length_max, '.'), { note: purpose })
      await world.coordinator.block(caller, { identity: 'alice', reason: purpose })
    }
    const all = world.coordinator.status(bob, StatusInput.parse({ limit: LIMITS.status_limit_max }))
    expect(all.totals).toEqual({ agents: 500, locks: 500, blockings: 500 })
    expect(all.agents.length).toBeGreaterThan(50)
    expect(Buffer.byteLength(JSON.stringify(all))).toBeLessThan(LIMITS.frame_bytes_max)
  })
})

describe('a blocking', () => {
  test('a blocking lasts until its blocker ends it, and both events go to the blocked persona', async () => {
    const world = await coordinatorWorld()
    const view = { blocker: 'alice', blocked: 'bob', reason: 'migration', since: '2026-03-01T12:00:00.000Z' }
    expect(await world.coordinator.block(alice, { identity: 'bob', reason: 'migration' })).toEqual(view)
    expect(world.coordinator.blocked(bob, undefined)).toEqual({
      identity: 'bob',
      blocked: true,
      blocked_by: [view],
      blocks: [],
    })
    expect(world.coordinator.blocked(bob, 'alice')).toEqual({
      identity: 'alice',
      blocked: false,
      blocked_by: [],
      blocks: [view],
    })
    expect(await world.coordinator.unblock(alice, { identity: 'bob' })).toEqual({ unblocked: [view] })
    expect(await world.coordinator.unblock(alice, { identity: 'bob' })).toEqual({ unblocked: [] })
    expect(world.coordinator.blocked(bob, undefined).blocked).toBe(false)
    expect(world.told('agent.')).toEqual([
      { type: 'agent.blocked', agent_id: 'bob', data: view },
      { type: 'agent.unblocked', agent_id: 'bob', data: view },
    ])
  })

  test('a second blocking of a pair changes the reason, and an identical one changes nothing', async () => {
    const world = await coordinatorWorld()
    await world.coordinator.block(alice, { identity: 'bob', reason: 'one' })
    await world.clock.advance(1_000)
    await world.coordinator.block(alice, { identity: 'bob', reason: 'two' })
    await world.coordinator.block(alice, { identity: 'bob', reason: 'two' })
    expect(world.status().blockings).toMatchObject([{ reason: 'two', since: '2026-03-01T12:00:00.000Z' }])
    expect(world.told('agent.blocked')).toHaveLength(2)
  })

  test('a blocking survives a restart of the hub', async () => {
    const before = await coordinatorWorld()
    await before.coordinator.block(alice, { identity: 'bob', reason: 'one' })
    await before.coordinator.block(alice, { identity: 'cyd', reason: 'two' })
    await before.coordinator.unblock(alice, { identity: 'cyd' })
    const world = await before.restart()
    expect(world.status().blockings).toEqual(before.status().blockings)
    expect(world.status().blockings).toMatchObject([{ blocked: 'bob' }])
  })

  test('a blocking with an uncertain write is the same one on a retry, and ends with unblock', async () => {
    const those = unsureRecords(createMemoryRecordStore())
    const world = await coordinatorWorld({ records: those.records })
    const block = (reason: string) => world.coordinator.block(alice, { identity: 'bob', reason })
    those.unsynced = true
    expect(await codeOf(() => block('one'))).toBe('store_unavailable')
    expect(world.status().blockings).toEqual([])
    those.unsynced = false
    await world.clock.advance(1_000)
    await block('two')
    expect((await world.restart()).status().blockings).toMatchObject([
      { reason: 'two', since: '2026-03-01T12:00:00.000Z' },
    ])
    those.unsynced = true
    expect(await codeOf(() => block('three'))).toBe('store_unavailable')
    those.unsynced = false
    await block('two')
    expect((await world.restart()).status().blockings).toMatchObject([{ reason: 'two' }])
    await world.coordinator.unblock(alice, { identity: 'bob' })
    those.unsynced = true
    expect(await codeOf(() => block('four'))).toBe('store_unavailable')
    those.unsynced = false
    await world.coordinator.unblock(alice, { identity: 'bob' })
    expect((await world.restart()).status().blockings).toEqual([])
    await block('five')
    those.unsynced = true
    expect(await codeOf(() => world.coordinator.unblock(alice, { identity: 'bob' }))).toBe(
      'store_unavailable',
    )
    those.unsynced = false
    await block('five')
    expect((await world.restart()).status().blockings).toMatchObject([{ reason: 'five' }])
  })

  test('blocking oneself, an unknown or a wrapped persona is rejected', async () => {
    const world = await coordinatorWorld()
    await world.personas.wrap('cyd')
    const block = (identity: string, caller: Caller = alice) =>
      codeOf(() => world.coordinator.block(caller, { identity, reason: 'x' }))
    expect(await block('alice')).toBe('params_invalid')
    expect(await block('nobody')).toBe('target_unknown')
    expect(await block('cyd')).toBe('target_wrapped')
    expect(await block('bob', daemon('alice'))).toBe('kind_forbidden')
  })

  test('only its blocker and the operator may end a blocking', async () => {
    const world = await coordinatorWorld()
    await world.coordinator.block(alice, { identity: 'bob', reason: 'x' })
    await world.coordinator.block(agent('cyd'), { identity: 'bob', reason: 'y' })
    expect(await world.coordinator.unblock(bob, { identity: 'bob' })).toEqual({ unblocked: [] })
    const asAlice = { identity: 'bob', blocker: 'alice' }
    expect(await codeOf(() => world.coordinator.unblock(bob, asAlice))).toBe('identity_mismatch')
    expect(await world.coordinator.unblock(OPERATOR, asAlice)).toMatchObject({
      unblocked: [{ blocker: 'alice' }],
    })
    expect(await world.coordinator.unblock(OPERATOR, { identity: 'bob' })).toMatchObject({
      unblocked: [{ blocker: 'cyd' }],
    })
  })

  test('a blocking ends with either of its personas', async () => {
    const world = await coordinatorWorld()
    await world.coordinator.block(alice, { identity: 'bob', reason: 'x' })
    await world.coordinator.block(bob, { identity: 'cyd', reason: 'y' })
    await world.coordinator.block(alice, { identity: 'cyd', reason: 'z' })
    await world.personas.remove('bob')
    await atRest()
    expect(world.status().blockings).toMatchObject([{ blocker: 'alice', blocked: 'cyd' }])
  })
})

test('locks, blockings and subscriptions of a persona end with it, also after a crash in between', async () => {
  const before = await coordinatorWorld()
  await before.coordinator.subscribe(alice, 'releases')
  await before.coordinator.block(alice, { identity: 'bob', reason: 'x' })
  await before.coordinator.block(bob, { identity: 'alice', reason: 'y' })
  await before.lock(alice, 'src')
  await before.coordinator.block(OPERATOR, { identity: 'bob', reason: 'z' })
  await before.lock(bob, 'docs')
  // Every record written before the crash.
  await before.records.put('persona', 'alice', {
    ...(await before.records.get('persona', 'alice')),
    state: 'wrapped',
  })
  const world = await before.restart()
  expect(world.coordinator.subscribers('releases')).toEqual([])
  expect(world.status().blockings).toMatchObject([{ blocker: 'operator', blocked: 'bob' }])
  expect(world.held()).toEqual(['bob docs'])
})

describe('a subscription', () => {
  test('a subscription exists once per persona and topic, and survives a restart of the hub', async () => {
    const before = await coordinatorWorld()
    const view = { identity: 'alice', topic: 'releases', since: '2026-03-01T12:00:00.000Z' }
    expect(await before.coordinator.subscribe(alice, 'releases')).toEqual(view)
    await before.clock.advance(1_000)
    expect(await before.coordinator.subscribe(agent('alice', 'run-2'), 'releases')).toEqual(view)
    await before.coordinator.subscribe(bob, 'releases')
    await before.coordinator.subscribe(bob, 'docs')
    expect(await before.coordinator.unsubscribe(bob, 'docs')).toEqual({ removed: true })
    expect(await before.coordinator.unsubscribe(bob, 'docs')).toEqual({ removed: false })

    const { coordinator } = await before.restart()
    expect(coordinator.subscribers('releases')).toEqual(['alice', 'bob'])
    expect(coordinator.subscribers('docs')).toEqual([])
    expect(coordinator.subscriptions(bob, {})).toHaveLength(2)
    expect(coordinator.subscriptions(bob, { identity: 'alice' })).toEqual([view])
    expect(coordinator.subscriptions(bob, { topic: 'docs' })).toEqual([])
  })

  test('a subscription with an uncertain write is the same one on a retry, and ends with unsubscribe', async () => {
    const those = unsureRecords(createMemoryRecordStore())
    const { coordinator, clock, ...world } = await coordinatorWorld({ records: those.records })
    const topics = async () => (await world.restart()).coordinator.subscriptions(alice, {})
    those.unsynced = true
    for (const topic of ['releases', 'docs']) {
      expect(await codeOf(() => coordinator.subscribe(alice, topic))).toBe('store_unavailable')
    }
    those.unsynced = false
    expect(coordinator.subscribers('releases')).toEqual([])
    await clock.advance(1_000)
    await coordinator.subscribe(alice, 'releases')
    expect(await coordinator.unsubscribe(alice, 'docs')).toEqual({ removed: false })
    expect(await topics()).toMatchObject([{ topic: 'releases', since: '2026-03-01T12:00:00.000Z' }])
    expect(await coordinator.unsubscribe(alice, 'releases')).toEqual({ removed: true })
    expect(await topics()).toEqual([])
  })

  test('a subscription whose removal failed is active again after another subscribe', async () => {
    const those = unsureRecords(createMemoryRecordStore())
    const { coordinator, ...world } = await coordinatorWorld({ records: those.records })
    await coordinator.subscribe(alice, 'releases')
    those.unsynced = true
    expect(await codeOf(() => coordinator.unsubscribe(alice, 'releases'))).toBe('store_unavailable')
    those.unsynced = false
    await coordinator.subscribe(alice, 'releases')
    expect((await world.restart()).coordinator.subscribers('releases')).toEqual(['alice'])
  })

  test('a subscription ends with its persona, and the operator has none', async () => {
    const world = await coordinatorWorld()
    await world.coordinator.subscribe(alice, 'releases')
    expect(await codeOf(() => world.coordinator.subscribe(OPERATOR, 'releases'))).toBe('kind_forbidden')
    await world.personas.wrap('alice')
    await atRest()
    expect(world.coordinator.subscribers('releases')).toEqual([])
  })

  test('a subscription beyond the limit of topics per persona is rejected', async () => {
    const world = await coordinatorWorld()
    for (let n = 0; n < LIMITS.topics_per_persona_max; n += 1) {
      await world.coordinator.subscribe(alice, `topic-${n}`)
    }
    expect(await codeOf(() => world.coordinator.subscribe(alice, 'one-more'))).toBe('limit_reached')
    expect(await codeOf(() => world.coordinator.subscribe(alice, 'topic-0'))).toBe('accepted')
    await world.coordinator.unsubscribe(alice, 'topic-0')
    expect(await codeOf(() => world.coordinator.subscribe(alice, 'one-more'))).toBe('accepted')
  })
})

describe('the log of agents', () => {
  test('the history of the log is a query on the event stream', async () => {
    const world = await coordinatorWorld()
    const first = await log(world, alice, 'main is red', { level: 'warn', data: { commit: 'abc' } })
    await world.lock(alice, 'noise')
    await world.coordinator.log(bob, 'run-7', LogInput.parse({ message: 'looking at it' }))
    expect(first).toEqual({ seq: 1, timestamp: '2026-03-01T12:00:00.000Z' })
    const [red, looking] = history(world).entries
    expect(red).toEqual({
      ...first,
      agent_id: 'alice',
      level: 'warn',
      message: 'main is red',
      data: { commit: 'abc' },
    })
    expect(looking).toMatchObject({ agent_id: 'bob', level: 'info', run_id: 'run-7' })
    expect(history(world, { agent_id: 'bob' }).entries).toHaveLength(1)
    expect(world.told('coordinator.log')).toHaveLength(2)
  })

  test('the history shows the newest entries, or continues from a position or a time', async () => {
    const world = await coordinatorWorld()
    for (let n = 0; n < 5; n += 1) {
      await log(world, alice, `m${n}`)
      await world.clock.advance(1_000)
    }
    const messages = (query: Partial<HistoryInput>) =>
      history(world, query).entries.map(({ message }) => message)
    expect(messages({ limit: 2 })).toEqual(['m3', 'm4'])
    expect(messages({ since: 0, limit: 2 })).toEqual(['m0', 'm1'])
    expect(messages({ since: 2, limit: 2 })).toEqual(['m2', 'm3'])
    expect(messages({ since: '2026-03-01T12:00:02.500Z' })).toEqual(['m3', 'm4'])
    const page = history(world, { since: 0, limit: 2 })
    expect(history(world, { since: page.next }).entries.map(({ message }) => message)).toEqual([
      'm2',
      'm3',
      'm4',
    ])
    expect(history(world, { since: history(world).next }).entries).toEqual([])
  })

  test('a page of history ends before it exceeds a frame, and returns where to continue', async () => {
    const world = await coordinatorWorld()
    const data = 'x'.repeat(LIMITS.event_data_bytes_max - 2)
    for (let n = 0; n < 60; n += 1) await log(world, alice, `m${n}`, { data })
    const all: string[] = []
    for (let since = 0, pages = 0; all.length < 60 && pages < 60; pages += 1) {
      const page = history(world, { since, limit: 500 })
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(LIMITS.frame_bytes_max)
      all.push(...page.entries.map(({ message }) => message))
      since = page.next
    }
    expect(all).toEqual(Array.from({ length: 60 }, (_, n) => `m${n}`))
    expect(history(world, { limit: 500 }).entries.at(-1)?.message).toBe('m59')
  })

  test('a log entry with more data than an event may carry is rejected', async () => {
    const world = await coordinatorWorld()
    const data = 'x'.repeat(LIMITS.event_data_bytes_max)
    expect(await codeOf(() => log(world, alice, 'm', { data }))).toBe('params_invalid')
    expect(await codeOf(() => log(world, observer('eve'), 'm'))).toBe('kind_forbidden')
    for (const input of [
      {},
      { message: '' },
      { message: 'm', level: 'loud' },
      { message: 'm', agent_id: 'bob' },
    ]) {
      expect(LogInput.safeParse(input).success, JSON.stringify(input)).toBe(false)
    }
  })
})
