/** Bounds that a client sets in `_meta` hold behind the bridge as they do at the hub's own door. */
import { describe, expect, test } from 'vitest'
import { LISTS_KEPT_MAX } from '../../../src/transports/bridge/tool-list.ts'
import { bridgedClient, patientClock } from '../../support/bridge-client.ts'
import { closedAfterwards } from '../../support/closed-afterwards.ts'
import { startSmallHub } from '../../support/small-hub.ts'

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
  ])('calls within %j', async (meta, code) => {
    const client = await connect(era)
    const { structuredContent } = await client.call('signals', SEND, { meta })
    expect(structuredContent).toMatchObject({ code })
    expect((await client.call('signals', SEND)).isError).toBeUndefined()
    // From the second call on, one goes past the SDK.
    expect((await client.call('signals', SEND, { meta })).structuredContent).toMatchObject({ code })
  })

  test('is not shown the former list for bounds that are misspelt', async () => {
    const client = await connect(era)
    await client.tools()
    const misspelt = client.tools({ facade: ['personas'] })
    await expect(misspelt).rejects.toMatchObject({ data: { code: 'request_invalid' } })
  })

  test('reads resources within its bounds', async () => {
    const client = await connect(era)
    const read = (facades: string[]) => client.request('resources/read', { uri, _meta: { facades } })
    await expect(read(['personas'])).rejects.toMatchObject({ data: { code: 'facade_forbidden' } })
    expect(await read(['signals'])).toHaveProperty('contents')
  })

  test('is told without the hub what it was told with the same bounds, and nothing else', async () => {
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

test('lists with other bounds are kept up to a number, the newest of them', async () => {
  const client = await connect('present')
  for (let n = 0; n <= LISTS_KEPT_MAX; n += 1) await client.tools({ facades: ['personas', `f${n}`] })
  await client.away()
  await expect(client.tools({ facades: ['personas', 'f0'] })).rejects.toThrow()
  expect(await client.tools({ facades: ['personas', 'f1'] })).toEqual(['personas'])
})
