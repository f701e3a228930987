/** Tests limits that a request sets for itself: the same names and errors in every transport. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FACADES } from '../../../src/facades/all.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'

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

const MISSPELT_IN_QUERY: [query: string, problem: string][] = [
  ['?read_only=0&read_only=1', 'read_only: expected 1, true, 0 or false, once, found "0" and "1"'],
  ['?read-only=1', 'read-only: unknown bound; expected read_only'],
  ['?readonly=true', 'readonly: unknown bound; expected read_only'],
  ['?READ_ONLY=1', 'READ_ONLY: unknown bound; expected read_only'],
  ['?facades[]=git', 'facades[]: unknown bound; expected facade'],
  ['?facade%5B0%5D=git', 'facade[0]: unknown bound; expected facade'],
  ['?allowed_facades=git', 'allowed_facades: unknown bound; expected facade'],
  ['?Facets=core', 'Facets: unknown bound; expected facet'],
  ['?X-Intent=LOOK', 'X-Intent: unknown bound; expected intent'],
]
const MISSPELT_HEADERS: [name: string, value: string, right: string][] = [
  ['x-facade', 'git', 'X-Facades'],
  ['x-facet', 'core', 'X-Facets'],
  ['x-intents', 'REVIEW', 'X-Intent'],
  ['x-readonly', '1', 'X-Read-Only'],
  ['x_read_only', '1', 'X-Read-Only'],
  ['x-allowed-facades', 'git', 'X-Facades'],
  ['facades', 'git', 'X-Facades'],
]

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
  ])('with the limits %j an MCP client lists and calls these facades only', async (options) => {
    expect(await listed(options)).toEqual(['tool', 'personas'])
    expect(await refused(options)).toBe('facade_forbidden')
  })

  test.each([
    [{ query: '?read_only=1' }],
    [{ meta: { read_only: true } }],
    [{ headers: { 'x-read-only': 'true' } }],
  ])('with the limits %j an MCP client lists and calls read-only actions', async (options) => {
    expect(await listed(options)).not.toContain('signals_pending')
    expect(await refused(options)).toBe('read_only')
    const inbox = { name: 'signals', arguments: { action: 'inbox' } }
    expect((await mcp('tools/call', inbox, options)).result).not.toHaveProperty('isError')
  })

  test('the detail of the list may differ for each request', async () => {
    expect(await listed({ meta: { detail: 'full' } })).toContain('personas')
    expect(await listed({ query: '?detail=full' })).toContain('personas')
    expect(await listed({ query: '?detail=full', meta: { detail: 'micro' } })).not.toContain('personas')
    expect(await listed({})).not.toContain('personas')
  })

  test.each([
    [{ detail: 'tiny' }],
    [{ 'vendor/facade': ['git'], 'vendor/read_only': true, 'example.org/scope': 5, facade_count: 2 }],
    [{ progressToken: 'p', threadId: 't', sessionId: 's', 'x-codex-turn-metadata': '{}', scopes: ['a'] }],
    [{ scope: null, run_id: null, agent_id: null }],
  ])('unknown _meta keys are ignored: %j', async (meta) => {
    expect(await refused({ meta })).toBeNull()
  })

  test.each([
    ['scope', 5, '_meta.scope: expected string, found 5'],
    ['scope', { project: 'p2' }, '_meta.scope: expected string, found {"project":"p2"}'],
    ['scope', ['p2'], '_meta.scope: expected string, found ["p2"]'],
    ['scope', '', '_meta.scope: expected string of at least 1 characters, found ""'],
    ['agent_id', 7, '_meta.agent_id: expected string, found 7'],
    ['run_id', false, '_meta.run_id: expected string, found false'],
    ['parent_call_id', 'x'.repeat(129), '_meta.parent_call_id: expected string of at most 128 characters'],
  ])('an invalid origin of a call is rejected: %s %j', async (name, value, why) => {
    const meta = { [name]: value }
    const { result } = await mcp('tools/call', SEND, { meta })
    const problem = { code: 'request_invalid', detail: expect.stringContaining(why) as string }
    expect(result['structuredContent']).toMatchObject(problem)
    const uri = { uri: 'turnbell://signals/ada/pending' }
    const { error } = await mcp('resources/read', uri, { meta, headers: { 'mcp-name': uri.uri } })
    expect(error['data']).toMatchObject(problem)
  })

  test.each([
    ['on the fast path', {}],
    ['through the SDK', { extra: 1 }],
  ])('a call contains its origin in headers, and other context in _meta: %s', async (_, more) => {
    const headers = { 'x-scope': 'portfolio', 'x-run-id': 'r1' }
    const call = (meta: object, told: Record<string, string> = headers) =>
      mcp('tools/call', { ...SEND, ...more }, { headers: told, meta })
    await call({})
    expect(hub.lines.at(-1)).toMatchObject({ scope: 'portfolio', run_id: 'r1' })
    await call({ scope: '/projects/x' })
    expect(hub.lines.at(-1)).toMatchObject({ scope: '/projects/x', run_id: 'r1' })
    expect(await call({}, { 'x-scope': '' })).toMatchObject({ code: 'request_invalid' })
  })

  test.each([
    ['facade', ['git'], 'facades'],
    ['allowed_facades', ['git'], 'facades'],
    ['allowedFacades', ['git'], 'facades'],
    ['Facets', ['core'], 'facets'],
    ['intent', 'REVIEW', 'intents'],
    ['readOnly', true, 'read_only'],
    ['readonly', true, 'read_only'],
    ['read-only', true, 'read_only'],
    ['narrowing', { facades: ['git'] }, 'facets, facades, intents, read_only'],
  ])('a misspelt limit is rejected: _meta.%s', async (key, value, right) => {
    const meta = { [key]: value }
    const { result } = await mcp('tools/call', SEND, { meta })
    const problem = {
      code: 'request_invalid',
      detail: `_meta.${key}: unknown bound; expected ${right}`,
    }
    expect(result['structuredContent']).toMatchObject(problem)
    expect((await mcp('tools/list', {}, { meta })).error['data']).toMatchObject(problem)
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
  ])('a malformed limit is rejected: %j', async (meta) => {
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

  test('a resource is read within the limits of the request', async () => {
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
  ])('%s is rejected, when listing and calling', async (query, code) => {
    const { error } = await mcp('tools/list', {}, { query })
    expect((error['data'] as { code: string }).code).toBe(code)
    expect(await refused({ query })).toBe(code)
  })

  test.each([
    ['?read_only=maybe'],
    ['?detail=tiny'],
    ['?facade='],
    [`?facade=${'x'.repeat(129)}`],
    ...MISSPELT_IN_QUERY.map(([query]): [string] => [query]),
  ])('%s is not a valid request', async (query) =>
    expect(await mcp('tools/list', {}, { query })).toMatchObject({ code: 'request_invalid' }),
  )

  test.each(MISSPELT_HEADERS)('a header %s is not a valid request', async (name, value) =>
    expect(await mcp('tools/list', {}, { headers: { [name]: value } })).toMatchObject({
      code: 'request_invalid',
    }),
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

  test.each(ways)('%s %s %j respects the limits in its headers', async (method, path, body) => {
    const code = async (headers: Record<string, string>) =>
      (await hub.request(method, path, { body, headers })).body['code']
    expect(await code({ 'x-facades': 'personas,tool' })).toBe('facade_forbidden')
    expect(await code({ 'x-read-only': '1' })).toBe('read_only')
    expect(await code({ 'x-facets': 'work' })).toBe('facet_forbidden')
    expect(await code({ 'x-intent': 'LOOK' })).toBe('facade_forbidden')
    expect(await code({ 'x-read-only': 'perhaps' })).toBe('request_invalid')
    expect(await code({ 'x-facades': 'signals,tool' })).toBeUndefined()
  })

  test.each(ways)('%s %s %j respects the limits in the query of its address', async (method, path, body) => {
    const code = async (query: string, headers = {}) =>
      (await hub.request(method, `${path}${query}`, { body, headers })).body['code']
    expect(await code('?facade=personas,tool')).toBe('facade_forbidden')
    expect(await code('?read_only=1')).toBe('read_only')
    expect(await code('?facets=work')).toBe('facet_forbidden')
    expect(await code('?intent=LOOK')).toBe('facade_forbidden')
    expect(await code('?facade=signals&facade=tool', { 'x-facades': 'personas,tool' })).toBe(
      'facade_forbidden',
    )
    expect(await code('?read_only=0', { 'x-read-only': '1' })).toBe('read_only')
    expect(await code('?facade=signals&facade=tool&page=1')).toBeUndefined()
  })

  test.each(ways)('%s %s %j rejects a misspelt limit', async (method, path, body) => {
    for (const [query, detail] of MISSPELT_IN_QUERY)
      expect((await hub.request(method, `${path}${query}`, { body })).body).toMatchObject({
        code: 'request_invalid',
        detail,
      })
    for (const [name, value, right] of MISSPELT_HEADERS)
      expect((await hub.request(method, path, { body, headers: { [name]: value } })).body).toMatchObject({
        code: 'request_invalid',
        detail: `${name}: unknown bound; expected ${right}`,
      })
  })

  test.each([['?read_only=1'], ['?readonly=1'], ['?facades[]=git']])(
    'the query of a GET contains parameters only, so %s is rejected',
    async (query) =>
      expect((await hub.request('GET', `/api/signals/inbox${query}`)).body).toMatchObject({
        code: 'params_invalid',
      }),
  )

  test('a batch respects the limits in the query of its address', async () => {
    const calls = [{ facade: 'signals', action: 'send', params: send }]
    const { body } = await hub.request('POST', '/batch?read_only=1', { body: { calls } })
    expect(body['results']).toMatchObject([{ error: { code: 'read_only' } }])
    expect((await hub.request('POST', '/batch?readonly=1', { body: { calls } })).body).toMatchObject({
      code: 'request_invalid',
    })
  })

  test('a batch is checked call by call', async () => {
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

  test.each(['/facades', '/tools'])('%s lists what the limits permit', async (path) => {
    const { text } = await hub.request('GET', path, { headers: { 'x-facades': 'personas' } })
    expect(text).toContain('personas')
    expect(text).not.toContain('broadcast')
    expect((await hub.request('GET', `${path}?facade=personas`)).text).toBe(text)
    expect((await hub.request('GET', `${path}?facade[]=personas`)).status).toBe(400)
  })

  test('a call by an old name returns where the current one is', async () => {
    const { headers } = await hub.request('POST', '/call', { body: { tool: 'coord_send', params: send } })
    expect(headers.get('link')).toBe('</api/signals/send>; rel="successor-version"')
    const { headers: plain } = await hub.request('POST', '/call', {
      body: { tool: 'signals_send', params: send },
    })
    expect(plain.get('link')).toBeNull()
  })
})
