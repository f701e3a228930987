/** Tests MCP features that an extension adds to a hub, and the streams that only these need. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server'
import { inputRequired, type ServerContext } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ExtensionTool, McpExtend } from '../../../src/transports/mcp/extension.ts'
import { eventually } from '../../support/eventually.ts'
import { startSmallHub, type Answer, type SmallHub } from '../../support/worlds/small-hub.ts'

type Call = (context: ServerContext) => Promise<CallToolResult | InputRequiredResult>

/** Tools that log, report progress or ask before they return. */
const CALLS: Record<string, Call> = {
  tells: async ({ mcpReq }) => {
    for (const progress of [1, 2])
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: 't', progress } })
    return { content: [] }
  },
  asks: async ({ mcpReq }) => {
    const params = { messages: [], maxTokens: 1 }
    const answer = await mcpReq.send({ method: 'sampling/createMessage', params })
    return { content: [{ type: 'text', text: answer.model }] }
  },
  holds: async ({ mcpReq }) => {
    await mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken: 't', progress: 0 },
    })
    await new Promise<void>((resolve) => (release = resolve))
    return { content: [] }
  },
  needs: async () =>
    inputRequired({ inputRequests: { word: inputRequired.createMessage({ messages: [], maxTokens: 1 }) } }),
}

/** Those, two that only return a result or fail, and one more. */
const ADDED = ['still', 'breaks', ...Object.keys(CALLS), 'changes']

const plain = (name: string, call: () => Promise<CallToolResult>): [string, ExtensionTool] => {
  const tool = { name, description: name, inputSchema: { type: 'object' as const } }
  return [name, { tool, talks: false, call }]
}
const PLAIN = [
  plain('still', async () => ({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] })),
  plain('breaks', () => Promise.reject(new Error('a fixture broke'))),
]

let release: () => void
const extend: McpExtend = ({ toolsChanged }) => {
  const changes: Call = async () => {
    toolsChanged()
    return { content: [] }
  }
  const tools = Object.entries({ ...CALLS, changes }).map(([name, handle]) => {
    const tool = { name, description: name, inputSchema: { type: 'object' as const } }
    const call = (_: unknown, context: ServerContext) => handle(context)
    return [name, { tool, talks: true, call }] as const
  })
  return {
    capabilities: { prompts: {} },
    tools: new Map<string, ExtensionTool>([...PLAIN, ...tools]),
    resources: [{ uri: 'test://a', name: 'a' }],
    resourceTemplates: [{ uriTemplate: 'test://{id}', name: 'any' }],
    read: (uri) => (uri === 'test://a' ? [{ uri, text: 'words' }] : null),
    install(server) {
      server.setRequestHandler('prompts/list', () => ({ prompts: [{ name: 'p' }] }))
    },
  }
}

let hub: SmallHub
beforeAll(async () => {
  hub = await startSmallHub({ extend })
  for (const identity of ['ada', 'bob']) await hub.personas.add({ identity, surface: 'mcp' })
})
afterAll(() => hub.close())

const EVENTS = { accept: 'application/json, text/event-stream' }
const rpc = (method: string, params: object = {}, id: number | string = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})
const call = (name: string, id: number | string = 1) => rpc('tools/call', { name, arguments: {} }, id)

function post(
  body: unknown,
  headers: Record<string, string> = EVENTS,
  identity = 'ada',
  at = hub,
): Promise<Answer> {
  return at.request('POST', '/mcp', { token: at.token(identity), body, headers })
}

async function session(identity = 'ada', at = hub): Promise<Record<string, string>> {
  const clientInfo = { name: 'raw', version: '1' }
  const begun = rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  const answer = await post(begun, EVENTS, identity, at)
  return { ...EVENTS, 'mcp-session-id': answer.headers.get('mcp-session-id') as string }
}

interface Message {
  id?: number | string
  method?: string
  params?: { progress?: number }
  result?: { content?: { text?: string }[] }
  error?: { message: string }
}
const messagesIn = (text: string) =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data as string) as Message)

/** A POST whose response is read as it arrives. */
async function stream(body: object, headers: Record<string, string>, at = hub) {
  const outgoing = httpRequest({
    host: '127.0.0.1',
    port: at.port,
    path: '/mcp',
    method: 'POST',
    headers: {
      authorization: `Bearer ${at.token('ada')}`,
      'content-type': 'application/json',
      ...headers,
    },
  })
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve).once('error', reject)
    outgoing.end(JSON.stringify(body))
  })
  const heard = { messages: [] as Message[], over: false, broken: false, leave: () => outgoing.destroy() }
  let text = ''
  incoming.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    heard.messages = messagesIn(text)
  })
  incoming.on('error', () => (heard.broken = true))
  incoming.on('close', () => (heard.over = true))
  return heard
}

test("a tool of an extension is listed after the kernel's, and returns any content as plain JSON", async () => {
  const listed = await post(rpc('tools/list'))
  const { tools } = listed.body['result'] as { tools: { name: string }[] }
  const names = tools.map(({ name }) => name)
  expect(names[0]).toBe('signals_pending')
  expect(names.slice(-ADDED.length)).toEqual(ADDED)
  const answer = await post(call('still'))
  expect(answer.type).toBe('application/json')
  expect(answer.body['result']).toMatchObject({ content: [{ type: 'image', mimeType: 'image/png' }] })
})

test("resources and methods of an extension are served together with the kernel's", async () => {
  const own = { uri: 'turnbell://signals/ada/pending' }
  expect((await post(rpc('resources/list'))).body['result']).toMatchObject({
    resources: [own, { uri: 'test://a' }],
  })
  expect((await post(rpc('resources/templates/list'))).body['result']).toMatchObject({
    resourceTemplates: [{ name: 'pending signals' }, { name: 'any' }],
  })
  const read = async (uri: string) => (await post(rpc('resources/read', { uri }))).body
  expect(await read('test://a')).toMatchObject({ result: { contents: [{ text: 'words' }] } })
  expect(await read('test://b')).toMatchObject({
    error: { code: -32602, data: { uri: 'test://b', code: 'identity_mismatch' } },
  })
  expect(await read(own.uri)).toMatchObject({ result: { contents: [own] } })
  expect((await post(rpc('prompts/list'))).body['result']).toMatchObject({ prompts: [{ name: 'p' }] })
})

test("only the caller's own resources can be subscribed to, including those of an extension", async () => {
  const headers = await session()
  const subscribe = async (uri: string) => (await post(rpc('resources/subscribe', { uri }), headers)).body
  expect(await subscribe('test://a')).toMatchObject({ result: {} })
  expect(await subscribe('test://b')).toMatchObject({ error: { data: { code: 'identity_mismatch' } } })
})

test('a hub without an extension has none of its tools, resources and methods', async () => {
  const plain = await startSmallHub()
  try {
    await plain.personas.add({ identity: 'ada', surface: 'mcp' })
    const ask = (method: string) =>
      plain.request('POST', '/mcp', { token: plain.token('ada'), body: rpc(method), headers: EVENTS })
    const { tools } = (await ask('tools/list')).body['result'] as { tools: { name: string }[] }
    expect(tools.filter(({ name }) => ADDED.includes(name))).toEqual([])
    expect((await ask('prompts/list')).body['error']).toMatchObject({ code: -32601 })
  } finally {
    await plain.close()
  }
})

describe('messages of a tool before its result', () => {
  test('messages of a tool arrive as events, and the result after them', async () => {
    const answer = await post(call('tells', 'x'))
    expect(answer.type).toBe('text/event-stream')
    expect(messagesIn(answer.text)).toMatchObject([
      { method: 'notifications/progress', params: { progress: 1 } },
      { method: 'notifications/progress', params: { progress: 2 } },
      { id: 'x', result: { content: [] } },
    ])
  })

  test('messages of a tool have the session of the result', async () => {
    const headers = await session()
    const answer = await post(call('tells'), headers)
    expect(answer.headers.get('mcp-session-id')).toBe(headers['mcp-session-id'])
  })

  test('messages of a tool are dropped for a client that does not read events', async () => {
    const answer = await post(call('tells'), { accept: 'application/json' })
    expect(answer.type).toBe('application/json')
    expect(answer.body).toMatchObject({ id: 1, result: { content: [] } })
  })

  test('messages of a tool in a batch turn all of its answers into events', async () => {
    const answer = await post([rpc('ping', {}, 'a'), call('tells', 'b'), rpc('ping', {}, 'c')])
    expect(answer.type).toBe('text/event-stream')
    const said = messagesIn(answer.text)
    expect(said.flatMap(({ id }) => id ?? []).sort()).toEqual(['a', 'b', 'c'])
    expect(said.filter(({ method }) => method !== undefined)).toHaveLength(2)
  })

  test('messages of a tool end with the connection when the call is cancelled', async () => {
    const headers = await session()
    const heard = await stream(call('holds', 'h'), headers)
    await eventually('it has begun', () => heard.messages.length === 1)
    const params = { requestId: 'h' }
    await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, headers)
    await eventually('the connection is closed', () => heard.over)
    expect([heard.broken, heard.messages.length]).toEqual([true, 1])
    release()
  })
})

describe('a question to the client', () => {
  const answerTo = (id: Message['id'], model = 'm') => ({
    jsonrpc: '2.0',
    id,
    result: { role: 'assistant', content: { type: 'text', text: '' }, model },
  })
  /** A call that has asked the client. */
  async function asking(headers: Record<string, string>, at = hub) {
    const heard = await stream(call('asks', 'q'), headers, at)
    await eventually('the question', () => heard.messages.length === 1)
    expect(heard.messages[0]).toMatchObject({ method: 'sampling/createMessage' })
    return { heard, question: heard.messages[0]?.id }
  }

  test('a question to the client arrives on the stream of the call, and is answered by another POST', async () => {
    const headers = await session()
    const { heard, question } = await asking(headers)
    expect((await post(answerTo(question, 'mine'), headers)).status).toBe(202)
    await eventually('the answer', () => heard.over)
    expect(heard.messages[1]).toMatchObject({ id: 'q', result: { content: [{ text: 'mine' }] } })
  })

  test('a question to the client is answered only by the session that was asked, and only once', async () => {
    const headers = await session()
    const { heard, question } = await asking(headers)
    await post(answerTo(question, 'of another'), await session('bob'), 'bob')
    await post(answerTo(question, 'of another session'), await session())
    await post(answerTo(question, 'of no session'))
    await post(answerTo('no such question'), headers)
    await post(answerTo(question, 'mine'), headers)
    await post(answerTo(question, 'too late'), headers)
    await eventually('the answer', () => heard.over)
    expect(heard.messages[1]).toMatchObject({ result: { content: [{ text: 'mine' }] } })
  })

  test('a question to the client can be rejected by the client', async () => {
    const headers = await session()
    const { heard, question } = await asking(headers)
    await post({ jsonrpc: '2.0', id: question, error: { code: -1, message: 'I would rather not' } }, headers)
    await eventually('the answer', () => heard.over)
    expect(heard.messages[1]).toMatchObject({ id: 'q', error: { message: 'I would rather not' } })
  })

  test('a question to the client ends when its client disconnects', async () => {
    const quitting = await startSmallHub({ extend })
    await quitting.personas.add({ identity: 'ada', surface: 'mcp' })
    const { heard } = await asking(await session('ada', quitting), quitting)
    heard.leave()
    await eventually('it is gone', () => heard.over)
    await quitting.close()
  })

  test.each([
    ['a session', EVENTS],
    ['a stream', null],
  ])('a question to the client fails at once without %s', async (_, given) => {
    const headers = given ?? { ...(await session()), accept: 'application/json' }
    expect((await post(call('asks'), headers)).body).toMatchObject({ error: { code: -32603 } })
  })
})

describe('in the 2026-07-28 era', () => {
  test("a tool of 2026-07-28 that only returns a result is called like the kernel's", async () => {
    const answer = await modern('still')
    expect(answer.type).toBe('application/json')
    expect(answer.body['result']).toMatchObject({ resultType: 'complete', content: [{ type: 'image' }] })
  })

  test('a tool of 2026-07-28 that fails is answered with the problem', async () => {
    const { status, body } = await modern('breaks')
    expect(status).toBe(200)
    expect(body).toMatchObject({ id: 1, error: { code: -32603, data: { code: 'internal' } } })
    expect(JSON.stringify(body)).not.toContain('fixture')
  })

  const modern = (name: string) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const told = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name }
    return post(rpc('tools/call', { name, arguments: {}, _meta }), { ...EVENTS, ...told })
  }

  test('messages of a tool of 2026-07-28 arrive as events, too', async () => {
    const answer = await modern('tells')
    expect(answer.type).toBe('text/event-stream')
    expect(messagesIn(answer.text).map(({ method }) => method)).toEqual([
      'notifications/progress',
      'notifications/progress',
      undefined,
    ])
  })

  test('a tool of 2026-07-28 that needs an unsupported feature of the client is rejected with 400', async () => {
    const answer = await modern('needs')
    expect(answer.status).toBe(400)
    expect(answer.body['error']).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { sampling: {} } },
    })
  })

  test('a question to the client in 2026-07-28 is rejected, because the version has no such requests', async () => {
    expect((await modern('asks')).body['error']).toMatchObject({ code: -32603 })
  })
})

test('subscribers are notified that the list of tools has changed', async () => {
  const headers = await session()
  const outgoing = httpRequest({
    host: '127.0.0.1',
    port: hub.port,
    path: '/mcp',
    headers: { authorization: `Bearer ${hub.token('ada')}`, ...headers, accept: 'text/event-stream' },
  })
  const incoming = await new Promise<IncomingMessage>((resolve) => outgoing.once('response', resolve).end())
  let heard = ''
  incoming.on('data', (chunk: Buffer) => (heard += chunk.toString()))
  incoming.on('error', () => undefined)
  await post(call('changes'), headers)
  await eventually('the change', () => heard.includes('notifications/tools/list_changed'))
  outgoing.destroy()
})
