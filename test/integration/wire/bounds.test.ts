/** Tests that limits in `_meta` apply through the bridge as they do at the hub. */
import { describe, expect, test } from 'vitest'
import { LISTS_KEPT_MAX } from '../../../src/bridge/tool-list.ts'
import { bridgedClient, patientClock } from '../../support/worlds/bridge-client.ts'
import { closedAfterwards } from '../../support/closed-afterwards.ts'
import { startSmallHub } from '../../support/worlds/small-hub.ts'

const open = closedAfterwards()

async function connect(era: 'past' | 'present') {
  const hub = await startSmallHub()
  open.push(hub)
  await hub.personas.add({ identity: 'ada', surface: 'mcp' })
  const clock = patientClock()
  const client = await bridgedClient({
    era,
    upstream: { identity: 'ada', locate: () => hub.url, operatorToken: () => hub.operator, clock },
  })
  open.push(client)
  const away = async () => {
    open.splice(open.indexOf(hub), 1)
    await hub.close()
    clock.hurry(200)
  }
  return { ...client, hub, away }
}

describe.each(['past', 'present'] as const)('a client of the %s', (era) => {
  const SEND = { action: 'send', params: { to: 'ada', intent: 'x' } }
  const uri = 'turnbell://signals/ada/pending'

  test.each([
    [{ facades: ['personas'] }, 'facade_forbidden'],
    [{ facets: ['work'] }, 'facet_forbidden'],
    [{ intents: ['DANCE'] }, 'intent_unknown'],
    [{ read_only: true }, 'read_only'],
    [{ read_only: 'yes' }, 'request_invalid'],
    [{ readOnly: true }, 'request_invalid'],
    [{ facade: ['personas'] }, 'request_invalid'],
    [{ intent: 'REVIEW' }, 'request_invalid'],
    [{ scope: 5 }, 'request_invalid'],
    [{ scope: '' }, 'request_invalid'],
    [{ run_id: ['r1'] }, 'request_invalid'],
  ])('a client calls within the limits %j', async (meta, code) => {
    const client = await connect(era)
    const { structuredContent } = await client.call('signals', SEND, { meta })
    expect(structuredContent).toMatchObject({ code })
    expect((await client.call('signals', SEND)).isError).toBeUndefined()
    // From the second call on, the fast path is used.
    expect((await client.call('signals', SEND, { meta })).structuredContent).toMatchObject({ code })
  })

  test('a client with misspelt limits is not shown the cached tool list', async () => {
    const client = await connect(era)
    await client.tools()
    const misspelt = client.tools({ facade: ['personas'] })
    await expect(misspelt).rejects.toMatchObject({ data: { code: 'request_invalid' } })
  })

  test('a client reads resources within its limits', async () => {
    const client = await connect(era)
    const read = (facades: string[]) => client.request('resources/read', { uri, _meta: { facades } })
    await expect(read(['personas'])).rejects.toMatchObject({ data: { code: 'facade_forbidden' } })
    expect(await read(['signals'])).toHaveProperty('contents')
  })

  test('a client without a hub is shown the cached list for the same limits, and no other', async () => {
    const client = await connect(era)
    const narrow = { facades: ['personas'] }
    const all = await client.tools()
    expect(await client.tools(narrow)).toEqual(['personas'])
    await client.away()
    expect(await client.tools()).toEqual(all)
    expect(await client.tools({ ...narrow, progressToken: 7 })).toEqual(['personas'])
    await expect(client.tools({ facades: ['signals'] })).rejects.toMatchObject({
      data: { code: 'hub_unreachable' },
    })
  })
})

test('cached lists for other limits are stored up to a number, newest first', async () => {
  const client = await connect('present')
  for (let n = 0; n <= LISTS_KEPT_MAX; n += 1) await client.tools({ facades: ['personas', `f${n}`] })
  await client.away()
  await expect(client.tools({ facades: ['personas', 'f0'] })).rejects.toThrow()
  expect(await client.tools({ facades: ['personas', 'f1'] })).toEqual(['personas'])
})
