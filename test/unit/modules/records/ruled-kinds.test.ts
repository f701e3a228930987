/** Tests kinds with rules beyond fields: every facade can read their records, one facade changes them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FACADES } from '../../../../src/facades/all.ts'
import { createKinds } from '../../../../src/modules/records/kinds.ts'
import { startSmallHub, type SmallHub } from '../../../support/worlds/small-hub.ts'

let hub: SmallHub
beforeAll(async () => {
  hub = await startSmallHub({ grants: { facets: ['core', 'trace'], pro: false, intents: {} } })
  for (const identity of ['ada', 'bob']) await hub.personas.add({ identity, surface: 'mcp' })
})
afterAll(() => hub.close())

const call = async (path: string, body: object) =>
  (await hub.request('POST', `/api/${path}`, { body, token: hub.token('ada', 'agent', 'run-1') })).body
const ruled = createKinds(FACADES.flatMap(({ kinds = [] }) => kinds))
  .list()
  .filter(({ kind }) => kind.changed_by !== undefined)

describe('a kind with its own facade', () => {
  test('records of a ruled kind are found by the store in the form of that facade', async () => {
    await call('coordinator/lock', { resource: 'src', scope: 'tree', note: 'moving' })
    await call('coordinator/lock', { resource: 'docs' })
    await call('coordinator/unlock', { resource: 'docs' })
    await call('coordinator/block', { identity: 'bob', reason: 'moving' })
    await call('coordinator/subscribe', { topic: 'releases' })
    const run = await call('vector/create_run', { prompt: 'x', assumptions: ['y'] })
    await call('vector/create_run', {
      prompt: 'Review it.',
      delegated_by: { agent_id: 'ada', run_id: run['run_id'] },
    })
    const found = async (kind: string, filter: object) =>
      (await call('store/query', { kind, filter }))['records']
    expect(await found('lease', { status: 'held' })).toMatchObject([
      { resource: 'src', covers: 'tree', agent_id: 'ada', session_id: 'run-1', epoch: 1, note: 'moving' },
    ])
    expect(await found('lease', { status: 'released' })).toMatchObject([{ resource: 'docs', epoch: 2 }])
    expect(await found('blocking', { blocked: 'bob' })).toMatchObject([
      { reason: 'moving', status: 'active' },
    ])
    expect(await found('subscription', { topic: 'releases' })).toMatchObject([{ identity: 'ada' }])
    expect(await found('run', { status: 'open', text: 'review it' })).toMatchObject([
      { prompt: 'Review it.', delegated_by: { run_id: run['run_id'] } },
    ])
  })

  test.each(ruled.map(({ kind }) => [kind.name, kind] as const))(
    'records of a ruled kind are changed by no other facade: %s',
    async (name, kind) => {
      const id = '01JZ0000000000000000000000'
      expect(await call('store/put', { kind: name, record: {} })).toMatchObject({ code: 'kind_readonly' })
      expect(await call('store/put', { kind: name, record: { id } })).toMatchObject({ code: 'kind_readonly' })
      const closed = await call('store/close', { kind: name, id })
      expect(closed).toMatchObject({ code: 'kind_readonly' })
      expect(JSON.stringify(closed['detail'])).toContain(`by the actions of ${kind.changed_by}`)
      expect(FACADES.map((facade) => facade.name)).toContain(kind.changed_by)
    },
  )

  test('a ruled kind is described with the facade that changes it', async () => {
    expect(await call('tool/describe', { name: 'store_query', kind: 'lease' })).toMatchObject({
      record: { kind: 'lease', changed_by: 'coordinator' },
    })
  })

  test('reading a ruled kind removes no record, not even an invalid one', async () => {
    const id = '01JZ0000000000000000000009'
    await hub.home.put('lease', id, { id, kind: 'lease', resource: 7 })
    const { records } = (await call('store/query', { kind: 'lease' })) as { records: unknown[] }
    expect(records).toHaveLength(2)
    expect(await hub.home.get('lease', id)).not.toBeNull()
  })
})
