/** Tests that a client of protocol version 2025 is notified of changed tools without a subscription. */
import { expect, test } from 'vitest'
import { bridgedClient } from '../../support/worlds/bridge-client.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { closedAfterwards } from '../../support/closed-afterwards.ts'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'
import { GRANTS_DEFAULT } from '../../../src/kernel/policy.ts'

const open = closedAfterwards()

async function connect(at: { url: string; operator: string }) {
  const client = await bridgedClient({
    era: 'past',
    upstream: {
      identity: 'ada',
      locate: () => at.url,
      operatorToken: () => at.operator,
      query: '?detail=full',
    },
  })
  open.push(client)
  return client
}

/** Adds and removes tools until the client has been notified. */
async function hearsOf(hub: SmallHub, client: Awaited<ReturnType<typeof connect>>): Promise<void> {
  const before = client.toolsChanged()
  let more = true
  await eventually('the client is told', () => {
    hub.kernel.setGrants(more ? { ...GRANTS_DEFAULT, facets: ['core', 'work'] } : GRANTS_DEFAULT)
    more = !more
    return client.toolsChanged() > before
  })
}

test('a legacy client is notified of a changed tool list without a subscription', async () => {
  const hub = await startSmallHub()
  open.push(hub)
  const client = await connect(hub)
  await client.tools()
  await hearsOf(hub, client)
})

test('a legacy client is notified after each return of the hub', async () => {
  const at = { url: '', operator: '' }
  let client: Awaited<ReturnType<typeof connect>> | null = null
  for (let run = 0; run < 3; run++) {
    const hub = await startSmallHub()
    Object.assign(at, { url: hub.url, operator: hub.operator })
    client ??= await connect(at)
    await hearsOf(hub, client)
    if (run < 2) await hub.close()
    else open.push(hub)
  }
})

test('a bridge without a hub looks for one at growing intervals', async () => {
  const clock = fakeClock()
  let looks = 0
  const client = await bridgedClient({
    era: 'past',
    upstream: {
      identity: 'ada',
      locate: () => {
        looks += 1
        throw new Error('there is none')
      },
      operatorToken: () => 'none',
    },
    bridge: { clock },
  })
  open.push(client)
  await eventually('it has looked once', async () => {
    await clock.advance(0)
    return looks > 0
  })
  for (let second = 0; second < 60; second++) await clock.advance(1_000)
  expect(looks).toBeGreaterThan(3)
  expect(looks).toBeLessThan(15)
})
