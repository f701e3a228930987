/** A client of the 2025 era was promised to hear of changed tools, and asks for it in no way. */
import { expect, test } from 'vitest'
import { bridgedClient } from '../../support/bridge-client.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { closedAfterwards } from '../../support/closed-afterwards.ts'
import { startSmallHub, type SmallHub } from '../../support/small-hub.ts'
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

/** Offers more and less in turn, until the client has heard of one of them. */
async function hearsOf(hub: SmallHub, client: Awaited<ReturnType<typeof connect>>): Promise<void> {
  const before = client.toolsChanged()
  let more = true
  await eventually('the client is told', () => {
    hub.kernel.offer(more ? { ...GRANTS_DEFAULT, facets: ['core', 'work'] } : GRANTS_DEFAULT)
    more = !more
    return client.toolsChanged() > before
  })
}

test('it is told of another list without ever having subscribed to anything', async () => {
  const hub = await startSmallHub()
  open.push(hub)
  const client = await connect(hub)
  await client.tools()
  await hearsOf(hub, client)
})

test('it is told again after each return of the hub', async () => {
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

test('where there is no hub yet, its bridge looks for one ever more rarely', async () => {
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
