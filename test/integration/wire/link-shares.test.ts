/** Tests the limit of WebSocket links for each caller, and links without a token. */
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { liveHub, type Client, type LiveHub } from '../../support/worlds/live-hub.ts'

let hub: LiveHub
beforeEach(async () => {
  hub = await liveHub()
  await hub.hub.personas.add({ identity: 'ada', surface: 'mcp' })
  await hub.hub.personas.add({ identity: 'mallory', surface: 'mcp' })
})
afterEach(() => hub.close())

/** Returns the HTTP status of the rejected upgrade. */
async function refusal(token: string): Promise<number> {
  const socket = new WebSocket(`${hub.url.replace(/^http/, 'ws')}/ws`, {
    headers: { authorization: `Bearer ${token}` },
  })
  socket.on('error', () => undefined)
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }]
  return response.statusCode
}

describe('links without a token', () => {
  test('links without a token are closed in favour of newer ones', async () => {
    const strangers: Client[] = []
    for (let n = 0; n < LIMITS.unproven_links_max; n++) strangers.push(await hub.dial())
    const ada = await hub.join('ada', 'agent')
    expect(strangers.every(({ socket }) => socket.readyState === WebSocket.OPEN)).toBe(true)
    const late = await hub.dial()
    await strangers[0]?.closed
    late.send({
      type: 'hello',
      protocol: 1,
      kind: 'daemon',
      identity: 'ada',
      token: hub.token('ada', 'daemon'),
    })
    expect((await late.next('welcome')).type).toBe('welcome')
    await ada.settled()
    // The slot reserved for unauthenticated links is free.
    await hub.dial()
    expect(strangers[1]?.socket.readyState).toBe(WebSocket.OPEN)
  })
})

describe('links of one agent', () => {
  test('links of one agent are limited; its daemon, other agents and the operator can still connect', async () => {
    const links: Client[] = []
    for (let n = 0; n < LIMITS.caller_links_max; n++)
      links.push(await hub.dial({ token: hub.token('mallory') }))
    expect(await refusal(hub.token('mallory'))).toBe(429)
    await hub.join('mallory', 'daemon')
    await hub.join('ada', 'agent')
    links[0]?.socket.terminate()
    await links[0]?.closed
    await hub.join('mallory', 'agent')
  })

  test('links of one agent count as well if the token is in the hello', async () => {
    for (let n = 0; n < LIMITS.caller_links_max; n++) await hub.dial({ token: hub.token('mallory') })
    const one = await hub.dial()
    one.send({
      type: 'hello',
      protocol: 1,
      kind: 'agent',
      identity: 'mallory',
      token: hub.token('mallory'),
    })
    expect(await one.next('error')).toMatchObject({ code: 'limit_reached', retry: 'after_delay' })
  })

  test('links with too many unanswered calls are not read further, and later all calls are answered', async () => {
    const link = await hub.join('ada', 'agent')
    const most = LIMITS.calls_underway_max + LIMITS.calls_underway_paused
    for (let id = 1; id <= most; id++)
      link.send({ type: 'call', id, facade: 'signals', action: 'inbox', params: { limit: 1 } })
    const answers: object[] = []
    while (answers.length < most) answers.push(await link.next('result'))
    expect(link.frames.filter(({ type }) => type === 'error')).toEqual([])
  })
})
