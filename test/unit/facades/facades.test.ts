/** Rules that every facade has to follow. */
import { describe, expect, test } from 'vitest'
import { FACADES } from '../../../src/facades/all.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { jsonSchema } from '../../../src/kernel/schema.ts'
import { ERRORS } from '../../../src/contracts/errors/error-catalogue.ts'
import { startSmallHub } from '../../support/worlds/small-hub.ts'

const registry = createRegistry(FACADES)
const all = registry.actions.map((found) => [`${found.facade.name}.${found.name}`, found] as const)

describe('every facade', () => {
  test.each(FACADES.map((facade) => [facade.name, facade] as const))(
    '%s has a short description',
    (_, facade) => {
      expect(facade.summary).toMatch(/^[A-Z].{10,110}\.$/)
      expect(facade.compact).toMatch(/^[A-Z].{5,60}\.$/)
      expect(facade.facet).toMatch(/^[a-z]+$/)
    },
  )
})

describe('every action', () => {
  test.each(all)('%s has a description of one line', (_, { action }) => {
    expect(action.summary).toMatch(/^[A-Z].{10,120}\.$/)
    expect(action.summary).not.toMatch(/\n/)
  })

  test.each(all)('%s rejects unknown parameters', (_, { action }) => {
    expect(jsonSchema(action.input, 'input')).toMatchObject({ type: 'object', additionalProperties: false })
    expect(action.input.safeParse({ no_such_field: 1 }).success).toBe(false)
  })

  test.each(all)('%s returns an object and declares only known errors', (_, { action }) => {
    // An action that returns the result of another one may return anything.
    if (action.delegates !== true) {
      expect(jsonSchema(action.output, 'output')).toMatchObject({ type: 'object' })
    }
    for (const code of action.errors) expect(Object.keys(ERRORS)).toContain(code)
  })

  test.each(all)('%s has valid examples', (_, { action }) => {
    const examples = action.examples ?? []
    if (examples.length === 0)
      expect(action.input.safeParse({}).success, 'fits without parameters').toBe(true)
    for (const example of examples) expect(action.input.safeParse(example).success).toBe(true)
  })

  test.each(all)('%s uses snake_case', (_, { action }) => {
    const fields = [jsonSchema(action.input, 'input'), jsonSchema(action.output, 'output')].flatMap(
      (schema) => Object.keys(schema['properties'] ?? {}),
    )
    for (const field of fields) expect(field).toMatch(/^[a-z]+(_[a-z]+)*$/)
  })
})

/** Every tool costs tokens in every turn, so a read-only action is part of its facade's tool. */
test('a read-only action has its own tool only if it finds other actions', () => {
  const looking = all.filter(([, { action }]) => action.own_tool !== undefined && !action.mutates)
  expect(looking.map(([name]) => name)).toEqual(['tool.search', 'tool.describe'])
})

describe('the lifecycle of a persona', () => {
  test('the lifecycle actions of a persona have the same permissions under the old name', async () => {
    const hub = await startSmallHub()
    try {
      await hub.personas.add({ identity: 'ada', surface: 'mcp' })
      const rest = (token: string) =>
        hub.request('POST', '/call', { body: { tool: 'prism_wrap', params: { identity: 'ada' } }, token })
      expect((await rest(hub.token('ada'))).body).toMatchObject({ code: 'operator_required' })
      expect((await rest(hub.operator)).body).toMatchObject({ result: { state: 'wrapped' } })
    } finally {
      await hub.close()
    }
  })

  test('the lifecycle of a persona belongs to the operator: add, wrap, add again, remove', async () => {
    const hub = await startSmallHub()
    try {
      const call = async (action: string, params: object) =>
        (await hub.request('POST', `/api/personas/${action}`, { body: params })).body
      expect(
        await call('add', { identity: 'ada', surface: 'command', project: '/projects/x' }),
      ).toMatchObject({
        state: 'active',
      })
      expect(await call('wrap', { identity: 'ada' })).toMatchObject({ state: 'wrapped' })
      expect(await call('get', { identity: 'ada' })).toMatchObject({
        state: 'wrapped',
        pending_count: 0,
        registrations: [],
      })
      const sent = await hub.request('POST', '/api/signals/send', { body: { to: 'ada', intent: 'x' } })
      expect(sent.body['code']).toBe('target_wrapped')
      expect(await call('add', { identity: 'ada', surface: 'mcp' })).toMatchObject({
        state: 'active',
        surface: 'mcp',
      })
      expect(await call('remove', { identity: 'ada' })).toMatchObject({ state: 'removed' })
      expect(await call('list', {})).toEqual({ personas: [] })
      expect(await call('get', { identity: 'ada' })).toMatchObject({ state: 'removed' })
      expect(await call('get', { identity: 'eve' })).toMatchObject({ code: 'target_unknown' })
      expect(await call('add', { identity: 'operator', surface: 'mcp' })).toMatchObject({ status: 400 })
    } finally {
      await hub.close()
    }
  })

  test('a removed project takes its personas along', async () => {
    const hub = await startSmallHub()
    try {
      for (const identity of ['ada', 'bob'])
        await hub.personas.add({ identity, surface: 'mcp', project: '/projects/x' })
      const listed = await hub.request('GET', '/api/projects/list')
      expect(listed.body['projects']).toMatchObject([{ root: '/projects/x' }])
      const removed = await hub.request('POST', '/api/projects/remove', { body: { project: '/projects/x' } })
      expect(removed.body).toEqual({ removed: ['ada', 'bob'] })
    } finally {
      await hub.close()
    }
  })
})

describe('signals', () => {
  test('signals pass through broadcast, inbox, release, and an ack whose result returns to the sender', async () => {
    const hub = await startSmallHub()
    try {
      for (const identity of ['ada', 'bob', 'cyd']) await hub.personas.add({ identity, surface: 'mcp' })
      const as = (identity: string) => async (action: string, params: object) =>
        (await hub.request('POST', `/api/signals/${action}`, { body: params, token: hub.token(identity) }))
          .body
      const [ada, bob] = [as('ada'), as('bob')]

      const cast = await ada('broadcast', { intent: 'please.review', payload: { pr: 7 }, reply_to: 'ada' })
      expect(cast['receipts']).toHaveLength(2)
      const drained = await bob('pending', {})
      const [signal] = drained['signals'] as unknown as { signal_id: string }[]
      const signal_ids = [signal?.signal_id]

      expect(await bob('inbox', { status: ['acked'] })).toMatchObject({
        signals: [{ payload: { pr: 7 }, from: 'ada' }],
      })
      expect(await bob('release', { signal_ids })).toEqual({ released: signal_ids, unknown: [] })
      expect(await bob('pending', {})).toMatchObject({ signals: [{ deliveries: 2 }] })
      expect(await bob('ack', { signal_ids, result: 'looks good' })).toMatchObject({
        completed: signal_ids,
        already: [],
        unknown: [],
      })
      expect(await ada('pending', {})).toMatchObject({
        signals: [{ intent: 'reply', from: 'bob', payload: 'looks good', in_reply_to: signal_ids[0] }],
      })
      expect(await bob('read', { signal_id: signal_ids[0] })).toMatchObject({
        status: 'completed',
        result: 'looks good',
      })
      expect(await bob('replay', { signal_ids: ['01JZ0000000000000000000000'] })).toEqual({
        replayed: [],
        unknown: ['01JZ0000000000000000000000'],
      })
    } finally {
      await hub.close()
    }
  })

  test("signals work under the coordinator's old names and parameters", async () => {
    const hub = await startSmallHub()
    try {
      for (const identity of ['ada', 'bob']) await hub.personas.add({ identity, surface: 'mcp' })
      const call = async (tool: string, params: object) =>
        (await hub.request('POST', '/call', { body: { tool, params }, token: hub.token('ada') })).body
      const sent = (await call('coord_send', { to: 'ada', from: 'ada', intent: 'x', payload: 'hi' }))[
        'result'
      ] as { signal_id: string }
      expect(sent.signal_id).toHaveLength(26)
      const inbox = await call('coord_inbox', { agent_id: 'ada', status: 'pending', limit: 5 })
      expect(inbox).toMatchObject({ result: { signals: [{ signal_id: sent.signal_id }] } })
      const acked = await call('coord_ack', {
        agent_id: 'ada',
        message_id: sent.signal_id,
        result: { ok: true },
      })
      expect(acked).toMatchObject({ result: { completed: [sent.signal_id] } })
      expect(await call('coord_inbox', { agent_id: 'bob' })).toMatchObject({ code: 'identity_mismatch' })
    } finally {
      await hub.close()
    }
  })
})
