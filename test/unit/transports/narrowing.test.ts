/** Bounds that a request sets itself: the same words and the same refusals on every way in. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FACADES } from '../../../src/facades/all.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { startSmallHub, type SmallHub } from '../../support/small-hub.ts'

let hub: SmallHub
beforeAll(async () => {
  const grants = { facets: ['core'], pro: false, intents: { LOOK: ['personas', 'tool'] } }
  hub = await startSmallHub({ facades: FACADES, grants })
  await hub.personas.add({ identity: 'ada', surface: 'mcp' })
})
afterAll(() => hub.close())

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

async function mcp(
  method: string,
  params: object,
  {
    query = '',
    meta = {},
    headers = {},
  }: { query?: string; meta?: object; headers?: Record<string, string> } = {},
) {
  const { body } = await hub.request('POST', `/mcp${query}`, {
    token: hub.token('ada'),
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      accept: 'application/json, text/event-stream',
      ...('name' in params ? { 'mcp-name': String(params.name) } : {}),
      ...headers,
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: { ...META, ...meta } } },
  })
  const { result = {}, error = {} } = body as { [K in 'result' | 'error']?: Record<string, Json> }
  return { result, error, code: body['code'] }
}
const listed = async (options: Parameters<typeof mcp>[2]) => {
  const { result } = await mcp('tools/list', {}, options)
  return (result['tools'] as { name: string }[]).map(({ name }) => name)
}
const SEND = { name: 'signals', arguments: { action: 'send', params: { to: 'ada', intent: 'x' } } }
const refused = async (options: Parameters<typeof mcp>[2]) => {
  const { result } = await mcp('tools/call', SEND, options)
  return (result['structuredContent'] as { code?: string }).code ?? null
}

describe('over MCP', () => {
  test.each([
    [{ query: '?facade=personas&facade=tool' }],
    [{ meta: { facades: ['personas', 'tool'] } }],
    [{ headers: { 'x-facades': 'personas, tool' } }],
    [{ query: '?facade=personas,tool' }],
    [{ query: '?facades=personas&facade=tool' }],
    [{ query: '?intent=LOOK' }],
    [{ query: '?intents=LOOK' }],
    [{ meta: { intents: ['LOOK'] } }],
    [{ headers: { 'x-intent': 'LOOK' } }],
    [{ query: '?facade=personas&facade=tool&facade=signals', meta: { facades: ['personas', 'tool'] } }],
    [{ query: '?intent=LOOK', headers: { 'x-facades': 'signals,personas,tool' } }],
  ])('%j lists and calls these facades only', async (options) => {
    expect(await listed(options)).toEqual(['tool', 'personas'])
    expect(await refused(options)).toBe('facade_forbidden')
  })

  test.each([
    [{ query: '?read_only=1' }],
    [{ meta: { read_only: true } }],
    [{ headers: { 'x-read-only': 'true' } }],
  ])('%j shows and calls what changes nothing', async (options) => {
    expect(await listed(options)).not.toContain('signals_pending')
    expect(await refused(options)).toBe('read_only')
    const inbox = { name: 'signals', arguments: { action: 'inbox' } }
    expect((await mcp('tools/call', inbox, options)).result).not.toHaveProperty('isError')
  })

  test('the detail may be told with each request', async () => {
    expect(await listed({ meta: { detail: 'full' } })).toContain('personas')
    expect(await listed({ query: '?detail=full' })).toContain('personas')
    expect(await listed({ query: '?detail=full', meta: { detail: 'micro' } })).not.toContain('personas')
    expect(await listed({})).not.toContain('personas')
  })

  test('what has another form in _meta and is no bound belongs to somebody else', async () => {
    expect(await refused({ meta: { detail: 'tiny', agent_id: 7, scope: [], facade: 'git' } })).toBeNull()
  })

  test.each([
    [{ facades: 'personas' }],
    [{ facades: null }],
    [{ facades: [''] }],
    [{ facets: { core: true } }],
    [{ intents: [7] }],
    [{ intents: ['x'.repeat(129)] }],
    [{ read_only: 'yes' }],
    [{ read_only: 1 }],
    [{ read_only: null }],
    [{ facades: ['signals'], read_only: 'yes' }],
  ])('bounds of another form hold nothing, so they are refused: %j', async (meta) => {
    expect(await refused({ meta })).toBe('request_invalid')
    const uri = { uri: 'turnbell://signals/ada/pending' }
    for (const [method, params] of [
      ['tools/list', {}],
      ['resources/list', {}],
      ['resources/read', uri],
    ] as const) {
      const headers = 'uri' in params ? { 'mcp-name': params.uri } : {}
      const { error } = await mcp(method, params, { meta, headers })
      expect(error['data']).toMatchObject({
        code: 'request_invalid',
        detail: expect.stringContaining(`_meta.${Object.keys(meta).at(-1)}`) as string,
      })
    }
  })

  test('a resource is read within the bounds of the request', async () => {
    const params = { uri: 'turnbell://signals/ada/pending' }
    const headers = { 'mcp-name': params.uri }
    const { error } = await mcp('resources/read', params, { headers, meta: { facades: ['personas'] } })
    expect(error['data']).toMatchObject({ code: 'facade_forbidden' })
    const { result } = await mcp('resources/read', params, { headers, meta: { facades: ['signals'] } })
    expect(result['contents']).toHaveLength(1)
  })

  test.each([
    ['?facet=work', 'facet_forbidden'],
    ['?intent=DANCE', 'intent_unknown'],
  ])('%s is refused, listing and calling', async (query, code) => {
    const { error } = await mcp('tools/list', {}, { query })
    expect((error['data'] as { code: string }).code).toBe(code)
    expect(await refused({ query })).toBe(code)
  })

  test.each([['?read_only=maybe'], ['?detail=tiny'], ['?facade='], [`?facade=${'x'.repeat(129)}`]])(
    '%s is no request',
    async (query) =>
      expect(await mcp('tools/list', {}, { query })).toMatchObject({ code: 'request_invalid' }),
  )
})

describe('over HTTP', () => {
  const send = { to: 'ada', intent: 'x' }
  const ways: [string, string, object][] = [
    ['POST', '/call', { tool: 'signals', action: 'send', params: send }],
    ['POST', '/call', { tool: 'prism_signal', params: send }],
    ['POST', '/api/signals/send', send],
    ['POST', '/api/tool/invoke', { name: 'signals_send', args: send }],
  ]

  test.each(ways)('%s %s %j stays within the headers', async (method, path, body) => {
    const code = async (headers: Record<string, string>) =>
      (await hub.request(method, path, { body, headers })).body['code']
    expect(await code({ 'x-facades': 'personas,tool' })).toBe('facade_forbidden')
    expect(await code({ 'x-read-only': '1' })).toBe('read_only')
    expect(await code({ 'x-facets': 'work' })).toBe('facet_forbidden')
    expect(await code({ 'x-intent': 'LOOK' })).toBe('facade_forbidden')
    expect(await code({ 'x-read-only': 'perhaps' })).toBe('request_invalid')
    expect(await code({ 'x-facades': 'signals,tool' })).toBeUndefined()
  })

  test('a batch is judged call by call', async () => {
    const { body } = await hub.request('POST', '/batch', {
      headers: { 'x-facades': 'personas' },
      body: {
        calls: [
          { facade: 'signals', action: 'send', params: send },
          { facade: 'personas', action: 'list' },
        ],
      },
    })
    expect(body['results']).toMatchObject([
      { error: { code: 'facade_forbidden' } },
      { result: { personas: [{}] } },
    ])
  })

  test.each(['/facades', '/tools'])('%s shows what is left', async (path) => {
    const { text } = await hub.request('GET', path, { headers: { 'x-facades': 'personas' } })
    expect(text).toContain('personas')
    expect(text).not.toContain('broadcast')
  })

  test("what was called by an old name is told where today's is", async () => {
    const { headers } = await hub.request('POST', '/call', { body: { tool: 'coord_send', params: send } })
    expect(headers.get('link')).toBe('</api/signals/send>; rel="successor-version"')
    const { headers: plain } = await hub.request('POST', '/call', {
      body: { tool: 'signals_send', params: send },
    })
    expect(plain.get('link')).toBeNull()
  })
})
