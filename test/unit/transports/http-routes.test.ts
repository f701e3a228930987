/** Tests every HTTP route with valid and invalid input. */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Facade } from '../../../src/kernel/define.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { Problem } from '../../../src/contracts/errors/errors.ts'
import { describeWebSocket } from '../../../src/transports/ws/asyncapi.ts'
import { startSmallHub, type Answer, type SmallHub } from '../../support/worlds/small-hub.ts'

let hub: SmallHub
beforeAll(async () => {
  hub = await startSmallHub()
  for (const identity of ['ada', 'bob']) await hub.personas.add({ identity, surface: 'mcp' })
})
afterAll(() => hub.close())

/** Every error of every route is a problem with its own status and media type. */
function expectProblem(answer: Answer, code: string): string {
  expect(answer.type, answer.text).toContain('application/problem+json')
  const problem = Problem.loose().parse(answer.body)
  expect(problem).toMatchObject({ code, status: answer.status, type: `urn:turnbell:error:${code}` })
  expect(problem.instance).toMatch(/^urn:turnbell:instance:[0-9A-Z]{26}$/)
  return problem.detail
}

/** Sends a raw request that fetch would not send. */
function raw(lines: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(hub.port, '127.0.0.1', () => socket.write(lines))
    socket.on('data', (chunk) => (text += chunk.toString()))
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

describe('health and readiness', () => {
  test('health and readiness need no token', async () => {
    const health = await hub.request('GET', '/health', { token: null })
    expect(health.status).toBe(200)
    expect(health.body).toMatchObject({ status: 'ok', tool_count: hub.kernel.registry.actions.length })
    expect((await hub.request('GET', '/ready', { token: null })).body).toEqual({ ready: true, reason: null })
  })

  test('a hub that is not ready returns the reason with 503', async () => {
    Object.assign(hub.readiness, { ready: false, reason: 'The journal is being read.' })
    const answer = await hub.request('GET', '/ready', { token: null })
    Object.assign(hub.readiness, { ready: true, reason: null })
    expect(answer.status).toBe(503)
    expect(expectProblem(answer, 'hub_not_ready')).toBe('The journal is being read.')
  })
})

const isOpenToOperator = ({ facet, for_watchers }: Facade) => facet === 'core' || for_watchers === true

describe('endpoints derived from the facades', () => {
  test('/metrics is Prometheus text', async () => {
    const answer = await hub.request('GET', '/metrics')
    expect(answer.type).toContain('text/plain; version=0.0.4')
    expect(answer.text).toContain('turnbell_hub_ready 1')
  })

  test('/facades lists each facade with its actions', async () => {
    const { body } = await hub.request('GET', '/facades')
    const facades = body['facades'] as unknown as { name: string; actions: { name: string }[] }[]
    expect(facades.map(({ name }) => name)).toEqual(FACADES.filter(isOpenToOperator).map(({ name }) => name))
    expect(facades[0]?.actions.map(({ name }) => name)).toContain('pending')
  })

  test('/openapi.json contains the fixed routes and those of the actions', async () => {
    const { body } = await hub.request('GET', '/openapi.json')
    expect(Object.keys(body['paths'] as object)).toEqual(
      expect.arrayContaining(['/openapi.json', '/asyncapi.json', '/api/signals/send']),
    )
  })

  test('/asyncapi.json describes the WebSocket protocol of this hub', async () => {
    const answer = await hub.request('GET', '/asyncapi.json')
    expect(answer.type).toContain('application/json')
    expect(answer.body).toEqual(describeWebSocket('0.0.0'))
  })

  test('/call accepts every tool that /tools lists', async () => {
    const { body } = await hub.request('GET', '/tools')
    const tools = body['tools'] as unknown as { name: string }[]
    const open = hub.kernel.registry.actions.filter(({ facade }) => isOpenToOperator(facade))
    expect(tools.map(({ name }) => name)).toEqual(open.map(({ facade, name }) => `${facade.name}_${name}`))
    for (const { name } of tools) {
      const answer = await hub.request('POST', '/call', {
        body: { tool: name, params: { no_such_field: 1 } },
      })
      expectProblem(answer, 'params_invalid')
    }
  })
})

describe('/call', () => {
  test.each([
    ['facade and action', { tool: 'signals', action: 'inbox', params: {} }],
    ['a direct name', { tool: 'signals_inbox', params: {} }],
    ['a direct name in camel case', { tool: 'signalsInbox' }],
    [
      'an old name with its old parameters',
      { tool: 'coord_inbox', params: { agent_id: 'ada', status: 'pending' } },
    ],
    ['an old facade and action', { tool: 'coord', action: 'inbox', params: { agent_id: 'ada' } }],
  ])('/call returns {result} for %s', async (_, body) => {
    const answer = await hub.request('POST', '/call', { body, token: hub.token('ada') })
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body).toEqual({ result: { signals: [], next: null } })
  })

  test.each([
    ['an unknown facade', { tool: 'signal', action: 'send' }, 'facade_unknown'],
    ['an unknown action', { tool: 'signals', action: 'sned' }, 'action_unknown'],
    ['a facade without an action', { tool: 'signals' }, 'action_unknown'],
    ['invalid parameters', { tool: 'signals', action: 'read', params: { signal_id: 'x' } }, 'params_invalid'],
    ['a missing tool', { action: 'send' }, 'request_invalid'],
    ['an unknown field', { tool: 'signals', action: 'inbox', prams: {} }, 'request_invalid'],
    [
      'parameters that are not an object',
      { tool: 'signals', action: 'inbox', params: [1] },
      'request_invalid',
    ],
    ['a body that is not an object', [1, 2], 'request_invalid'],
    ['a body that is not JSON', '{"tool":', 'request_invalid'],
    ['a body that sets a prototype', '{"tool":"signals","__proto__":{"a":1}}', 'request_invalid'],
  ])('/call rejects %s', async (_, body, code) => {
    expectProblem(await hub.request('POST', '/call', { body }), code)
  })

  test('/call reads the context from headers', async () => {
    await hub.request('POST', '/call', {
      body: { tool: 'signals', action: 'inbox' },
      headers: {
        'x-agent-id': 'main',
        'x-run-id': 'run-7',
        'x-scope': 'portfolio',
        'x-parent-call-id': 'c1',
      },
    })
    expect(hub.lines.at(-1)).toMatchObject({
      agent_id: 'main',
      run_id: 'run-7',
      scope: 'portfolio',
      parent_call_id: 'c1',
      identity: 'operator',
    })
    await hub.request('POST', '/call', { body: { tool: 'signals', action: 'inbox' } })
    expect(hub.lines.at(-1)).toMatchObject({ agent_id: 'anonymous', run_id: null, scope: null })
  })

  test.each([
    ['in UTF-8', Buffer.from('/projects/größe').toString('latin1'), '/projects/größe'],
    ['in another encoding', '/projects/gr\u00f6\u00dfe', '/projects/größe'],
  ])('/call accepts a directory %s', async (_, header, scope) => {
    const headers = { 'x-scope': header }
    await hub.request('POST', '/call', { body: { tool: 'signals', action: 'inbox' }, headers })
    expect(hub.lines.at(-1)).toMatchObject({ scope })
  })

  test('/call rejects an invalid context', async () => {
    const answer = await hub.request('POST', '/call', {
      body: { tool: 'signals', action: 'inbox' },
      headers: { 'x-agent-id': 'x'.repeat(200) },
    })
    expect(expectProblem(answer, 'request_invalid')).toContain(
      'agent_id: expected string of at most 128 characters',
    )
    expect(answer.body['hint']).toBe('Check the headers against /openapi.json.')
  })

  test('/call requires JSON', async () => {
    const answer = await hub.request('POST', '/call', {
      body: 'tool=signals',
      headers: { 'content-type': 'text/plain' },
    })
    expectProblem(answer, 'request_invalid')
  })
})

describe('/batch', () => {
  const inbox = { facade: 'signals', action: 'inbox', params: {} }

  test('/batch answers in order, each call with its own error', async () => {
    const answer = await hub.request('POST', '/batch', {
      body: {
        calls: [inbox, { facade: 'signals', action: 'sned' }, { facade: 'personas', action: 'list' }],
        context: { agent_id: 'main', run_id: 'r' },
      },
      token: hub.token('ada'),
    })
    expect(answer.status).toBe(200)
    expect(answer.body['results']).toMatchObject([
      { result: { signals: [] } },
      { error: { code: 'action_unknown', status: 404 } },
      { result: { personas: [{ identity: 'ada' }, { identity: 'bob' }] } },
    ])
    expect(hub.lines.slice(-3).map(({ agent_id }) => agent_id)).toEqual(['main', 'main', 'main'])
  })

  test('/batch reads missing parts of a context from headers', async () => {
    const headers = { 'x-scope': 'portfolio', 'x-run-id': 'r1' }
    await hub.request('POST', '/batch', { headers, body: { calls: [inbox], context: { run_id: 'r2' } } })
    expect(hub.lines.at(-1)).toMatchObject({ scope: 'portfolio', run_id: 'r2' })
  })

  test.each([
    ['no calls', { calls: [] }],
    ['too many', { calls: Array.from({ length: LIMITS.batch_calls_max + 1 }, () => inbox) }],
    ['a call without an action', { calls: [{ facade: 'signals' }] }],
    ['a context with an unknown field', { calls: [inbox], context: { scpoe: 'p2' } }],
    ['nothing', {}],
  ])('/batch rejects %s', async (_, body) => {
    expectProblem(await hub.request('POST', '/batch', { body }), 'request_invalid')
  })
})

describe('/session/end', () => {
  test.each([
    ['[]', 'body: expected object, found []'],
    ['"a"', 'body: expected object, found "a"'],
    ['{"session_id":"s"}', 'unknown field "session_id"; there are none'],
  ])('/session/end rejects the body %s', async (body, detail) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await hub.request('POST', '/session/end', { body, headers, token: hub.token('ada') })
    expect(expectProblem(answer, 'request_invalid')).toBe(detail)
  })
})

describe('/api', () => {
  test('/api returns the bare output of an action', async () => {
    const answer = await hub.request('POST', '/api/signals/send', {
      body: { to: 'bob', intent: 'x', priority: 0 },
    })
    expect(answer.body).toMatchObject({ durable: true, status: 'pending' })
    const signal_id = answer.body['signal_id'] as string
    const read = await hub.request('GET', `/api/signals/read?signal_id=${signal_id}`)
    expect(read.body).toMatchObject({ to: 'bob', from: 'operator', origin: 'human', status: 'pending' })
  })

  test('a send of another request under a used idempotency key is refused with 409 and stores nothing', async () => {
    await hub.personas.add({ identity: 'cyd', surface: 'mcp' })
    const send = (to: string, payload: string) => {
      const body = { to, intent: 'x', payload, idempotency_key: 'used' }
      return hub.request('POST', '/api/signals/send', { body })
    }
    const stored = async () => (await hub.request('GET', '/api/signals/inbox')).body['signals']
    expect((await send('cyd', 'first')).status).toBe(200)
    const before = await stored()
    for (const refused of [await send('cyd', 'second'), await send('bob', 'first')]) {
      expectProblem(refused, 'idempotency_key_reused')
      expect(refused.status).toBe(409)
    }
    expect(await stored()).toEqual(before)
  })

  test('/api parses numbers and lists in a query', async () => {
    const answer = await hub.request('GET', '/api/signals/inbox?to=bob&status=pending,acked&limit=5')
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body['signals']).toHaveLength(1)
    expectProblem(await hub.request('GET', '/api/signals/inbox?limit=many'), 'params_invalid')
    expectProblem(await hub.request('GET', '/api/signals/inbox?limit=5000'), 'params_invalid')
  })

  test('/api accepts an empty body for an action without parameters', async () => {
    expect((await hub.request('POST', '/api/personas/list')).status).toBe(200)
    const empty = await hub.request('POST', '/api/personas/list', {
      headers: { 'content-type': 'application/json' },
    })
    expect(empty.status).toBe(200)
  })

  test('/api has no GET for changing actions, and no route for unknown ones', async () => {
    expectProblem(await hub.request('GET', '/api/signals/send?to=bob&intent=x'), 'route_unknown')
    const missing = await hub.request('POST', '/api/signals/nothing', { body: {} })
    expect(expectProblem(missing, 'action_unknown')).toContain('signals has no action "nothing". It has: ')
    expectProblem(await hub.request('POST', '/api/signal/send', { body: {} }), 'facade_unknown')
    expectProblem(await hub.request('POST', '/api/signals', { body: {} }), 'route_unknown')
  })

  test('/api errors name field, found and allowed values', async () => {
    const send = (body: object) => hub.request('POST', '/api/signals/send', { body })
    expect(expectProblem(await send({ intent: 'x' }), 'params_invalid')).toBe(
      'to: expected string, found nothing',
    )
    expect(expectProblem(await send({ to: 'Bob!', intent: 'x' }), 'params_invalid')).toContain('found "Bob!"')
    expect(expectProblem(await send({ to: 'bob', intent: 'x', priority: 10 }), 'params_invalid')).toBe(
      'priority: expected number of at most 9, found 10',
    )
    expect(expectProblem(await send({ to: 'bob', intent: 'x', prioritty: 1 }), 'params_invalid')).toContain(
      'unknown field "prioritty" (did you mean priority?); allowed: to, intent',
    )
  })
})

describe('bodies', () => {
  test('bodies over 1 MiB are rejected with 413, with and without a length', async () => {
    const body = JSON.stringify({ tool: 'x', params: { text: 'y'.repeat(LIMITS.body_bytes_max) } })
    const answer = await hub.request('POST', '/call', { body })
    expect(answer.status).toBe(413)
    expectProblem(answer, 'body_too_large')
    const mcp = await hub.request('POST', '/mcp', { body })
    expect(mcp.status).toBe(413)
    expectProblem(mcp, 'body_too_large')
  })

  test('bodies that are nested too deeply are rejected without a crash', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    const body = `{"to":"bob","intent":"x","payload":${deep}}`
    expectProblem(await hub.request('POST', '/api/signals/send', { body }), 'params_invalid')
    const call = `{"tool":"signals","action":"send","params":${body}}`
    expectProblem(await hub.request('POST', '/call', { body: call }), 'params_invalid')
  })
})

describe('unknown routes', () => {
  test.each([
    ['GET', '/nothing'],
    ['DELETE', '/call'],
    ['GET', '/call'],
    ['PUT', '/api/signals/send'],
    ['POST', '/health'],
  ])('an unknown route is rejected: %s %s', async (method, path) => {
    const answer = await hub.request(method, path)
    expect(answer.status).toBe(404)
    expect(expectProblem(answer, 'route_unknown')).toBe(`There is no ${method} ${path}.`)
  })

  test('a path that is not a URL is rejected', async () => {
    expectProblem(await hub.request('GET', '/%E0%A4%A'), 'request_invalid')
  })

  test('GET / returns the dashboard page', async () => {
    const answer = await hub.request('GET', '/', { token: null })
    expect(answer.status).toBe(200)
    expect(answer.type).toContain('text/html')
  })
})

describe('invalid HTTP', () => {
  test('data that is not HTTP is answered with a problem, and the connection is closed', async () => {
    const answer = await raw('\u0001\u0002 nonsense\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('"code":"request_invalid"')
  })

  test('endless headers are rejected', async () => {
    const answer = await raw(
      `GET /health HTTP/1.1\r\nHost: 127.0.0.1:${hub.port}\r\nX: ${'y'.repeat(80_000)}\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
    expect(answer).toContain('"code":"request_invalid"')
  })
})

describe('a number that would be rounded', () => {
  const payload = '{"id":9007199254740993}'
  const params = `{"to":"ada","intent":"x","payload":${payload}}`
  test.each([
    ['/call', `{"tool":"signals","action":"send","params":${params}}`, 'params.payload.id'],
    [
      '/batch',
      `{"calls":[{"facade":"signals","action":"send","params":${params}}]}`,
      'calls.0.params.payload.id',
    ],
    ['/api/signals/send', params, 'payload.id'],
  ])('a number that would be rounded is rejected with its path by %s', async (route, body, path) => {
    const detail = expectProblem(await hub.request('POST', route, { body }), 'params_invalid')
    expect(detail).toBe(`${path}: 9007199254740993 is beyond 2^53; send it as a text`)
  })

  test.each(['9007199254740993', '1e400', '"x"'])(
    'a number that would be rounded is rejected in a query: limit=%s',
    async (limit) => {
      const asked = await hub.request('GET', `/api/signals/inbox?to=ada&limit=${encodeURIComponent(limit)}`)
      expectProblem(asked, 'params_invalid')
    },
  )

  test('a number that would be rounded is accepted in a hook, which stores only some fields', async () => {
    const body = '{"hook_event_name":"PostToolUse","tool_response":{"id":9007199254740993}}'
    expect((await hub.request('POST', '/hook/claude-code', { body })).body).toEqual({})
  })
})

describe('a number written as text', () => {
  const params = { to: 'ada', limit: '5' }
  const note = 'limit: "5" was taken as 5'

  test('a number written as text is accepted, and the answer reports that', async () => {
    const asked = { tool: 'signals', action: 'inbox', params }
    expect((await hub.request('POST', '/call', { body: asked })).body).toMatchObject({ result: {}, note })
    const bare = await hub.request('POST', '/api/signals/inbox', { body: params })
    expect(bare.headers.get('x-turnbell-note')).toBe(note)
    expect(bare.body).not.toHaveProperty('note')
    const calls = [{ facade: 'signals', action: 'inbox', params }]
    expect((await hub.request('POST', '/batch', { body: { calls } })).body).toMatchObject({
      results: [{ note }],
    })
    const invoked = { tool: 'tool', action: 'invoke', params: { name: 'signals_inbox', args: params } }
    expect((await hub.request('POST', '/call', { body: invoked })).body).toMatchObject({ note })
  })

  test('a number written as text is reported to a model in the result', async () => {
    const call = { name: 'signals', arguments: { action: 'inbox', params: { limit: '5' } } }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }
    const answer = await hub.request('POST', '/mcp', { body, token: hub.token('ada') })
    expect(answer.body).toMatchObject({ result: { structuredContent: { signals: [], note } } })
  })
})

describe('/hook', () => {
  const started = (more: object = {}) => ({
    token: hub.token('ada'),
    body: { hook_event_name: 'SessionStart', session_id: 's1', source: 'startup', cwd: '/work', ...more },
  })

  test.each(['startup', 'resume', 'clear', 'compact'])(
    '/hook returns the primer at SessionStart with source %s',
    async (source) => {
      const { status, body } = await hub.request('POST', '/hook/claude-code', started({ source }))
      expect(status).toBe(200)
      expect(body).toEqual({
        hookSpecificOutput: {
          hookEventName: 'SessionStart',
          additionalContext: expect.stringMatching(/^You are ada, /) as string,
        },
      })
    },
  )

  test('/hook returns nothing to a subagent, to the operator and at other events', async () => {
    expect((await hub.request('POST', '/hook/claude-code', started({ agent_id: 'a1' }))).body).toEqual({})
    const { body } = started()
    expect((await hub.request('POST', '/hook/claude-code', { body })).body).toEqual({})
    const stop = started({ hook_event_name: 'Stop' })
    expect((await hub.request('POST', '/hook/codex', stop)).body).toEqual({})
  })

  test('/hook returns {} and stores the event without its text', async () => {
    const answer = await hub.request('POST', '/hook/claude-code', {
      body: { hook_event_name: 'UserPromptSubmit', session_id: 's1', prompt: 'a secret plan', cwd: '/work' },
      token: hub.token('ada'),
    })
    expect(answer.body).toEqual({})
    const page = hub.events.read({ type: 'hook', limit: 10 })
    expect(page.events.at(-1)).toMatchObject({
      agent_id: 'ada',
      data: { client: 'claude-code', hook_event_name: 'UserPromptSubmit', session_id: 's1', cwd: '/work' },
    })
    expect(JSON.stringify(page)).not.toContain('secret')
  })

  test('/hook rejects a client without a name, and a body that is not an object', async () => {
    expectProblem(await hub.request('POST', '/hook/Claude%20Code', { body: {} }), 'request_invalid')
    expectProblem(await hub.request('POST', '/hook/codex', { body: [1] }), 'request_invalid')
  })
})

describe('/auth/token', () => {
  test('/auth/token gives the operator a token for any persona and kind', async () => {
    const answer = await hub.request('POST', '/auth/token', {
      body: { identity: 'ada', kind: 'agent', session_id: 's1' },
    })
    expect(answer.body).toMatchObject({ expires_in: 3600 })
    const token = answer.body['token'] as string
    expect((await hub.request('GET', '/api/signals/inbox', { token })).status).toBe(200)
  })

  test('/auth/token renews for the same identity and kind only', async () => {
    const token = hub.token('ada', 'daemon')
    const renew = (body: object) => hub.request('POST', '/auth/token', { token, body })
    expect((await renew({ identity: 'ada', kind: 'daemon' })).status).toBe(200)
    expectProblem(await renew({ identity: 'bob', kind: 'daemon' }), 'operator_required')
    expectProblem(await renew({ identity: 'ada', kind: 'agent' }), 'operator_required')
  })

  test('/auth/token rejects a request without an identity', async () => {
    expectProblem(await hub.request('POST', '/auth/token', { body: { kind: 'agent' } }), 'request_invalid')
    expectProblem(
      await hub.request('POST', '/auth/token', { body: { identity: 'ada', kind: 'operator' } }),
      'request_invalid',
    )
  })
})
