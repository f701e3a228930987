/** Runs the MCP inspector from its command line against a real hub and a real `turnbell mcp`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hubHttp } from '../support/worlds/hub-http.ts'
import { inspect } from '../support/judges.ts'
import { BIN, end, startHub, temporaryHome, type Running } from '../support/processes/processes.ts'

let hub: Running & { url: string }
const home = temporaryHome()
const ways: Record<string, () => Promise<string[]>> = {
  stdio: async () => [
    process.execPath,
    BIN,
    'mcp',
    '--stdio',
    '--persona',
    'ada',
    '--create',
    '--home',
    home,
  ],
  async http() {
    const who = { identity: 'ada', kind: 'agent' }
    const { token } = await hubHttp(home).post<{ token: string }>('/auth/token', who)
    return [`${hub.url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${token}`]
  },
}

beforeAll(async () => {
  hub = await startHub(home)
  await hubHttp(home).post('/api/personas/add', { identity: 'ada', surface: 'mcp' })
})
afterAll(() => end(hub, 'SIGTERM'))

describe.each(Object.keys(ways))('the inspector over %s', (way) => {
  const ask = async <T>(method: string, ...options: string[]): Promise<T> => {
    const target = (await ways[way]?.()) ?? []
    const { code, stdout, stderr } = await inspect(target, ['--method', method, ...options])
    expect(code, stderr).toBe(0)
    return JSON.parse(stdout) as T
  }

  test('the inspector lists the tools', async () => {
    const { tools } = await ask<{ tools: { name: string; inputSchema: object }[] }>('tools/list')
    expect(tools[0]).toMatchObject({ name: 'signals_pending', inputSchema: { type: 'object' } })
    expect(tools.map(({ name }) => name)).toContain('signals')
  })

  test('the inspector calls a tool that sends and one that drains', async () => {
    const params = JSON.stringify({ to: 'ada', intent: `by.${way}` })
    const send = ['--tool-name', 'signals', '--tool-arg', 'action=send', '--tool-arg', `params=${params}`]
    expect(await ask('tools/call', ...send)).toMatchObject({
      structuredContent: { durable: true, status: 'pending' },
    })
    const { structuredContent } = await ask<{ structuredContent: { signals: object[]; remaining: number } }>(
      'tools/call',
      ...['--tool-name', 'signals_pending'],
    )
    expect(structuredContent.remaining).toBe(0)
    // The inspector exits after its response, so its drain is released and the next one returns the signals again.
    expect(structuredContent.signals.at(-1)).toMatchObject({
      from: 'ada',
      origin: 'agent',
      intent: `by.${way}`,
    })
  })

  test('the inspector receives a rejection as a problem', async () => {
    const send = ['--tool-name', 'signals', '--tool-arg', 'action=sned']
    expect(await ask('tools/call', ...send)).toMatchObject({
      isError: true,
      structuredContent: { code: 'action_unknown' },
    })
  })

  test('the inspector lists the resources and their templates', async () => {
    expect(await ask('resources/list')).toMatchObject({
      resources: [{ uri: 'turnbell://signals/ada/pending' }],
    })
    expect(await ask('resources/templates/list')).toMatchObject({
      resourceTemplates: [{ uriTemplate: 'turnbell://signals/{identity}/pending' }],
    })
  })
})
