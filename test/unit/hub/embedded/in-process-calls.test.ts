/** Tests a bridge in the hub's own process: the same responses and guarantees as over the network. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inProcessCalls } from '../../../../src/hub/embedded/in-process-calls.ts'
import { systemClock } from '../../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { bridgedClient, type BridgedClient } from '../../../support/worlds/bridge-client.ts'
import { eventually } from '../../../support/eventually.ts'
import { startSmallHub, type SmallHub } from '../../../support/worlds/small-hub.ts'

let hub: SmallHub
let client: BridgedClient
let stopping: boolean
let asked_here: number
const ids = createIds(systemClock, systemRandom)
const underway = new Set<Promise<unknown>>()

beforeAll(async () => {
  hub = await startSmallHub()
  await hub.personas.add({ identity: 'ada', surface: 'mcp' })
})
afterAll(() => hub.close())
beforeEach(() => {
  stopping = false
  asked_here = 0
})

describe.each(['past', 'present'] as const)('a client of the %s', (era) => {
  async function connect(query = ''): Promise<BridgedClient> {
    const call = inProcessCalls(
      { kernel: hub.kernel, api: { ids }, underway, isStopping: () => stopping },
      'local',
    )
    client = await bridgedClient({
      era,
      upstream: {
        identity: 'ada',
        query,
        locate: () => hub.url,
        operatorToken: () => hub.operator,
        inProcess: () => (caller, params) => {
          const answer = call(caller, params)
          if (answer !== null) asked_here += 1
          return answer
        },
      },
    })
    return client
  }
  const send = async (payload: string) => {
    const { body } = await hub.request('POST', '/api/signals/send', {
      body: { to: 'ada', intent: 'test', payload },
    })
    return (body as unknown as { signal_id: string }).signal_id
  }
  const confirmed = async (signal_id: string) =>
    ((await hub.store.read(signal_id))?.stages.confirmed_at ?? null) !== null

  test('an in-process client drains repeatedly, and every drain is confirmed once written', async () => {
    await connect()
    for (const payload of ['one', 'two', 'three']) {
      const signal_id = await send(payload)
      const drained = await client.call('signals_pending')
      expect(drained.structuredContent?.['signals']).toMatchObject([{ signal_id, payload }])
      await eventually('the confirmation', () => confirmed(signal_id))
    }
    expect(asked_here).toBeGreaterThanOrEqual(6)
    await eventually('the answer to the last confirmation', () => underway.size === 0)
    await client.close()
  })

  test('an in-process client receives the same problems as over the network', async () => {
    await connect()
    const ask = () => client.call('signals', { action: 'inbox', params: { limit: 'many' } })
    const here = await ask()
    stopping = true
    const through = await ask()
    const same = ({ isError, structuredContent, content }: typeof here) => ({
      ...{ isError, content },
      structuredContent: { ...structuredContent, instance: '' },
    })
    expect(same(here)).toEqual(same(through))
    expect(here.isError).toBe(true)
    expect(asked_here).toBe(1)
    await client.close()
  })

  test.each([{ readOnly: true }, { allowed_facades: ['git'] }, { scope: ['p2'] }])(
    'an in-process client with %j in its _meta is told that it has no effect',
    async (meta) => {
      await connect()
      const answer = await client.call('signals', { action: 'inbox' }, { meta })
      expect(answer.structuredContent).toMatchObject({ code: 'request_invalid' })
      expect(asked_here).toBe(1)
      await client.close()
    },
  )

  test('an in-process client has its own limits', async () => {
    await connect('?read_only=1')
    for (let time = 0; time < 2; time += 1) {
      const answer = await client.call('signals', { action: 'ack', params: { signal_ids: [] } })
      expect(answer.structuredContent).toMatchObject({ code: 'read_only' })
    }
    expect(asked_here).toBe(2)
    await client.close()
  })
})
