/** Tests the official clients, old and new, over a real port. */
import { Client as PastClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as PastTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import {
  Client,
  StreamableHTTPClientTransport,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'

interface Result {
  isError?: boolean
  content: { type: string; text: string }[]
  structuredContent: Record<string, unknown>
}

/** The client features that the tests use, for both generations. */
interface AnyClient {
  protocol(): string | undefined
  instructions(): string | undefined
  listTools(): Promise<{ name: string; description: string; _meta?: Record<string, unknown> }[]>
  call(name: string, args?: Record<string, unknown>, meta?: Record<string, unknown>): Promise<Result>
  listResources(): Promise<string[]>
  read(uri: string): Promise<unknown>
  /** Resolves when the server has the subscription; notifications are collected in `updates`. */
  subscribe(uri: string): Promise<void>
  updates: string[]
  close(): Promise<void>
}

let hub: SmallHub
beforeAll(async () => {
  hub = await startSmallHub()
  for (const identity of ['ada', 'bob', 'cyd']) await hub.personas.add({ identity, surface: 'mcp' })
})
afterAll(() => hub.close())

async function pastClient(token: string): Promise<AnyClient> {
  const client = new PastClient({ name: 'past', version: '1' })
  const updates: string[] = []
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => void updates.push(params.uri),
  )
  const transport = new PastTransport(new URL(`${hub.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })
  await client.connect(transport)
  return {
    updates,
    protocol: () => transport.protocolVersion,
    instructions: () => client.getInstructions(),
    listTools: async () => (await client.listTools()).tools as Awaited<ReturnType<AnyClient['listTools']>>,
    call: async (name, args = {}, _meta) =>
      (await client.callTool({
        name,
        arguments: args,
        ...(_meta === undefined ? {} : { _meta }),
      })) as unknown as Result,
    listResources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    read: async (uri) => textOf((await client.readResource({ uri })).contents),
    subscribe: async (uri) => void (await client.subscribeResource({ uri })),
    close: () => client.close(),
  }
}

const newClient = (mode: VersionNegotiationMode) => async (token: string) => {
  const client = new Client({ name: 'new', version: '2' }, { versionNegotiation: { mode } })
  const updates: string[] = []
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void updates.push(params.uri),
  )
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  )
  const found: AnyClient = {
    updates,
    protocol: () => client.getNegotiatedProtocolVersion(),
    instructions: () => client.getInstructions(),
    listTools: async () => (await client.listTools()).tools as Awaited<ReturnType<AnyClient['listTools']>>,
    call: async (name, args = {}, _meta) =>
      (await client.callTool({
        name,
        arguments: args,
        ...(_meta === undefined ? {} : { _meta }),
      })) as unknown as Result,
    listResources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    read: async (uri) => textOf((await client.readResource({ uri })).contents),
    subscribe: async (uri) => {
      if (mode === 'legacy') await client.subscribeResource({ uri })
      else
        expect((await client.listen({ resourceSubscriptions: [uri] })).honoredFilter).toEqual({
          resourceSubscriptions: [uri],
        })
    },
    close: () => client.close(),
  }
  return found
}

const textOf = (contents: unknown[]) => JSON.parse((contents[0] as { text: string }).text) as unknown

describe.each([
  ['the v1 client', '2025-11-25', pastClient],
  ['the v2 client in the 2025 era', '2025-11-25', newClient('legacy')],
  ['the v2 client that negotiates', '2026-07-28', newClient('auto')],
] as const)('%s', (_, version, connect) => {
  const withClient = async (token: string, use: (client: AnyClient) => Promise<void>) => {
    const client = await connect(token)
    try {
      await use(client)
    } finally {
      await client.close()
    }
  }

  test(`speaks ${version} and is told who it is and what a doorbell means`, () =>
    withClient(hub.token('ada'), async (client) => {
      expect(client.protocol()).toBe(version)
      expect(client.instructions()).toMatch(/^You are ada, an agent in a team \(turnbell\)/)
      expect(client.instructions()).toContain('Other agents: bob (')
      expect(client.instructions()).toContain('signals_pending once')
    }))

  test('a client sees signals_pending first, always loaded, and no administration', () =>
    withClient(hub.token('ada'), async (client) => {
      const tools = await client.listTools()
      expect(tools.map(({ name }) => name)).toEqual([
        'signals_pending',
        'signals',
        'context',
        'blackboard',
        'decisions',
        'workflow',
        'store',
        'routine',
        'git',
        'tool_search',
        'tool_describe',
        'tool_invoke',
      ])
      expect(tools[0]?._meta).toMatchObject({ 'anthropic/alwaysLoad': true })
    }))

  test('a client sends, drains and acknowledges', () =>
    withClient(hub.token('ada'), async (client) => {
      const sent = await client.call('signals', {
        action: 'send',
        params: { to: 'ada', intent: 'note.self', payload: { n: 1 } },
      })
      expect(sent.isError).toBeFalsy()
      expect(sent.structuredContent).toMatchObject({ durable: true, status: 'pending' })

      const drained = await client.call('signals_pending')
      expect(drained.structuredContent).toMatchObject({
        remaining: 0,
        signals: [
          { from: 'ada', origin: 'agent', to: 'ada', intent: 'note.self', payload: { n: 1 }, deliveries: 1 },
        ],
      })
      expect(JSON.parse(drained.content[0]?.text ?? '')).toEqual(drained.structuredContent)

      const { signal_id } = sent.structuredContent
      const acked = await client.call('signals', { action: 'ack', params: { signal_ids: [signal_id] } })
      expect(acked.structuredContent).toMatchObject({ completed: [signal_id] })
      expect((await client.call('signals_pending')).structuredContent).toMatchObject({
        signals: [],
        drain_id: null,
      })
    }))

  test('a client reaches unlisted old names', () =>
    withClient(hub.token('ada'), async (client) => {
      expect((await client.call('prism_signals_pending', { peek: true })).structuredContent).toMatchObject({
        signals: [],
      })
      expect((await client.call('signalsPending', { peek: true })).isError).toBeFalsy()
    }))

  test('a client makes several calls at once, answered like POST /batch', () =>
    withClient(hub.token('ada'), async (client) => {
      const calls = [
        { facade: 'signals', action: 'inbox', params: { status: ['dead'] } },
        { facade: 'signals', action: 'inbox', params: { limit: 0 } },
        { facade: 'projects', action: 'list' },
        { facade: 'personas', action: 'get', params: { identity: 'ada' } },
      ]
      const { structuredContent } = await client.call('workflow', { action: 'batch', params: { calls } })
      const { body } = await hub.request('POST', '/batch', { body: { calls }, token: hub.token('ada') })
      const told = (answer: unknown) =>
        (answer as { results: { result?: unknown; error?: { code: string } }[] }).results.map(
          ({ result, error }) => error?.code ?? result,
        )
      expect(told(structuredContent)).toEqual(told(body))
      expect(told(structuredContent)).toMatchObject([
        { signals: [] },
        'params_invalid',
        'operator_required',
        { identity: 'ada' },
      ])
    }))

  test('a client receives a rejection as a problem and as a sentence', () =>
    withClient(hub.token('ada'), async (client) => {
      const refused = await client.call('signals', { action: 'send', params: { to: 'nobody', intent: 'x' } })
      expect(refused).toMatchObject({
        isError: true,
        structuredContent: { code: 'target_unknown', status: 404 },
      })
      expect(refused.content[0]?.text).toContain('target_unknown')
      expect((await client.call('signals', { action: 'sned' })).structuredContent).toMatchObject({
        code: 'action_unknown',
        hint: 'Did you mean send?',
      })
      expect((await client.call('nothing_at_all')).structuredContent).toMatchObject({
        code: 'facade_unknown',
      })
    }))

  test('a client is identified by its token, whatever its parameters and _meta contain', () =>
    withClient(hub.token('bob'), async (client) => {
      const forged = await client.call('signals', {
        action: 'send',
        params: { to: 'bob', intent: 'x', from: 'ada' },
      })
      expect(forged.structuredContent).toMatchObject({ code: 'identity_mismatch' })
      await client.call(
        'signals',
        { action: 'send', params: { to: 'bob', intent: 'x' } },
        { agent_id: 'ada', run_id: 'r1', scope: null },
      )
      const result = await client.call('signals_pending')
      expect(result.structuredContent).toMatchObject({ signals: [{ from: 'bob' }] })
      expect(hub.lines.filter(({ agent_id }) => agent_id === 'ada').at(-1)).toMatchObject({
        identity: 'bob',
        run_id: 'r1',
        scope: null,
      })
    }))

  test('a client reads its own pending signals without draining them, and no others', () =>
    withClient(hub.token('bob'), async (client) => {
      const uri = 'turnbell://signals/bob/pending'
      expect(await client.listResources()).toEqual([uri])
      await client.call('signals', { action: 'send', params: { to: 'bob', intent: 'look.here' } })
      const peeked = await client.read(uri)
      expect(peeked).toMatchObject({ signals: [{ intent: 'look.here' }], drain_id: null })
      expect(await client.read(uri)).toEqual(peeked)
      await expect(client.read('turnbell://signals/ada/pending')).rejects.toThrow()
      await client.call('signals_pending')
    }))

  test('a client is notified when a signal is pushed to its subscribed queue', () =>
    withClient(hub.token('bob'), async (client) => {
      const uri = 'turnbell://signals/bob/pending'
      await client.subscribe(uri)
      // A 2025 client opens its stream some time after `initialized`; earlier changes are read, not notified.
      await eventually('the push is told', async () => {
        await hub.request('POST', '/api/signals/send', {
          body: { to: 'bob', intent: 'tell.me', priority: 0 },
        })
        return client.updates.includes(uri)
      })
      await client.call('signals_pending', { limit: 100 })
    }))

  test('a daemon has no tools', () =>
    withClient(hub.token('bob', 'daemon'), async (client) => {
      expect(await client.listTools()).toEqual([])
      expect((await client.call('signals_pending')).structuredContent).toMatchObject({
        code: 'kind_forbidden',
      })
    }))
})
