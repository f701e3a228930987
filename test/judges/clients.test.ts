/** Runs the official clients over HTTP against a real hub; test/e2e/mcp-stdio.test.ts does so over stdio. */
import { Client as PastClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as PastTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hubHttp } from '../support/worlds/hub-http.ts'
import { end, startHub, temporaryHome, type Running } from '../support/processes/processes.ts'

let hub: Running & { url: string }
let headers: Record<string, string>
beforeAll(async () => {
  const home = temporaryHome()
  hub = await startHub(home)
  const http = hubHttp(home)
  await http.post('/api/personas/add', { identity: 'ada', surface: 'mcp' })
  const { token } = await http.post<{ token: string }>('/auth/token', { identity: 'ada', kind: 'agent' })
  headers = { authorization: `Bearer ${token}` }
})
afterAll(() => end(hub, 'SIGTERM'))

interface AnyClient {
  protocol: string | undefined
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

async function past(): Promise<AnyClient> {
  const client = new PastClient({ name: 'past', version: '1' })
  const transport = new PastTransport(new URL(`${hub.url}/mcp`), { requestInit: { headers } })
  await client.connect(transport)
  return {
    protocol: transport.protocolVersion,
    listTools: () => client.listTools(),
    callTool: (call) => client.callTool(call),
    close: () => client.close(),
  }
}

async function present(): Promise<AnyClient> {
  const client = new Client({ name: 'present', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`), { requestInit: { headers } }),
  )
  return {
    protocol: client.getNegotiatedProtocolVersion(),
    listTools: () => client.listTools(),
    callTool: (call) => client.callTool(call),
    close: () => client.close(),
  }
}

test.each([
  ['v1', '2025-11-25', past],
  ['v2', '2026-07-28', present],
] as const)('the %s client speaks %s, lists and calls', async (name, version, connect) => {
  const client = await connect()
  try {
    expect(client.protocol).toBe(version)
    const { tools } = await client.listTools()
    expect(tools[0]).toMatchObject({ name: 'signals_pending' })
    const params = { to: 'ada', intent: `by.${name}` }
    const sent = await client.callTool({ name: 'signals', arguments: { action: 'send', params } })
    expect(sent).toMatchObject({ structuredContent: { durable: true } })
    expect(await client.callTool({ name: 'signals_pending', arguments: {} })).toMatchObject({
      structuredContent: { signals: [{ from: 'ada', intent: params.intent }] },
    })
  } finally {
    await client.close()
  }
})
