/** Tests that every request on stdio is answered or rejected under exactly its id, whatever else the line contains. */
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { beforeEach, describe, expect, test } from 'vitest'
import { STDIO_DEFAULT_MAX_BUFFER_SIZE } from '@modelcontextprotocol/server'
import { silentLog } from '../../../src/ports/log.ts'
import { createBridge } from '../../../src/bridge/bridge.ts'
import { StdioLines } from '../../../src/bridge/stdio/stdio-lines.ts'
import type { Upstream } from '../../../src/bridge/hub/upstream.ts'
import { createIds } from '../../../src/system/random.ts'
import { fakeClock, seededRandom } from '../../support/fakes/fake-clock.ts'

let input: PassThrough
let output: PassThrough
let answers: string[]
let called: unknown[]

const upstream: Upstream = {
  async request(method, params) {
    if (method === 'tools/list') return { tools: [{ name: 'signals', inputSchema: { type: 'object' } }] }
    called.push(params['arguments'])
    return { content: [{ type: 'text', text: '{}' }] }
  },
  checkPersona: () => Promise.resolve(),
  callInProcess: () => null,
  listen: () => new Promise(() => undefined),
  teamView: () => Promise.reject(new Error('not read')),
  reportActivity: () => Promise.reject(new Error('not reported')),
  endSession: () => Promise.resolve(),
  close() {},
}

beforeEach(() => {
  ;[answers, called] = [[], []]
  output = new PassThrough()
  output.on('data', (chunk: Buffer) => answers.push(...chunk.toString().split('\n').filter(Boolean)))
  input = new PassThrough()
  const clock = fakeClock()
  createBridge({
    upstream,
    transport: new StdioLines(input, output),
    session_id: () => 's',
    instructions: 'x',
    version: '0',
    clock,
    ids: createIds(clock, seededRandom()),
    log: silentLog,
  })
})

/** Returns the messages to the client up to the response to a ping after these lines. */
async function answersTo(...lines: string[]): Promise<string[]> {
  const before = answers.length
  for (const line of [...lines, '{"jsonrpc":"2.0","id":"last","method":"ping"}']) input.write(`${line}\n`)
  while (!answers.some((answer) => answer.includes('"id":"last"'))) await once(output, 'data')
  const told = answers.slice(before).filter((answer) => !answer.includes('"id":"last"'))
  answers = answers.filter((answer) => !answer.includes('"id":"last"'))
  return told
}

async function initialize(revision = '2025-06-18'): Promise<void> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  const request = JSON.stringify({ jsonrpc: '2.0', id: 'begin', method: 'initialize', params })
  const [answer] = await answersTo(request)
  expect(JSON.parse(answer ?? '')).toMatchObject({ id: 'begin', result: { protocolVersion: revision } })
}

const parsed = (answer: string) => JSON.parse(answer) as unknown
const call = (id: string, params = '{"name":"signals","arguments":{}}') =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`

describe('a request is answered under its id', () => {
  beforeEach(() => initialize())

  test.each([
    ['params that are null', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}'],
    ['params that are an empty list', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}'],
    ['a _meta that is null', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":null}}'],
    ['arguments that are null', call('1', '{"name":"signals","arguments":null}')],
    ['arguments that are an empty list', call('1', '{"name":"signals","arguments":[]}')],
    ['a field that JSON-RPC does not know', '{"jsonrpc":"2.0","id":1,"method":"tools/list","trace":7}'],
    ['a progress token beyond 2^53', call('1', '{"name":"x","_meta":{"progressToken":9007199254740993}}')],
    ['a progress token with a fraction', call('1', '{"name":"x","_meta":{"progressToken":1.5}}')],
  ])('a request with %s is answered under its id', async (_, line) => {
    const [answer] = await answersTo(line)
    expect(JSON.parse(answer ?? '')).toMatchObject({ id: 1, result: {} })
  })

  test.each(['1764391000123456789', '-9007199254740993', '1.5', '1e400', '"9007199254740993"', '0'])(
    'a request under the id %s is answered more than once, also on the fast path',
    async (id) => {
      const told = await answersTo(
        call('7'),
        call(id),
        call(id),
        `{"jsonrpc":"2.0","id":${id},"method":"ping"}`,
      )
      expect(told).toHaveLength(4)
      expect(told.filter((answer) => answer.includes(`"id":${id}`))).toHaveLength(3)
    },
  )
})

describe('a refused request is answered under its id', () => {
  beforeEach(() => initialize())

  test.each([
    ['params that are a list', '{"jsonrpc":"2.0","id":9,"method":"tools/list","params":[1]}', -32602],
    ['params that are a text', '{"jsonrpc":"2.0","id":9,"method":"tools/list","params":"x"}', -32602],
    [
      'a _meta that is a list',
      '{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"_meta":[1]}}',
      -32602,
    ],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":9,"method":"tools/list"}', -32600],
    ['no version', '{"id":9,"method":"tools/list"}', -32600],
    ['no method', '{"jsonrpc":"2.0","id":9}', -32600],
    ['a method that is a number', '{"jsonrpc":"2.0","id":9,"method":7}', -32600],
    [
      'params nested too deep',
      call('9', `{"name":"x","arguments":{"a":${'['.repeat(200)}${']'.repeat(200)}}}`),
      -32602,
    ],
  ])('a refused request is answered under its id: %s', async (_, line, code) => {
    const told = await answersTo(line)
    expect(told.map(parsed)).toMatchObject([{ id: 9, error: { code, data: { status: 400 } } }])
  })

  test.each(['null', 'true', '{}', '[1]'])(
    'a request whose id is %s is answered with the id null',
    async (id) => {
      const told = await answersTo(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`)
      expect(told.map(parsed)).toMatchObject([{ id: null, error: { code: -32600 } }])
    },
  )

  test.each([
    ['in front', (text: string) => `{"jsonrpc":"2.0","id":9,"method":"x","params":{"text":"${text}"}}`],
    ['at the end', (text: string) => `{"method":"x","params":{"text":"${text}"},"jsonrpc":"2.0","id":9}`],
  ])('a line that is too long is answered under its id, which is %s', async (_, line) => {
    const told = await answersTo(line('x'.repeat(STDIO_DEFAULT_MAX_BUFFER_SIZE)))
    expect(told.map(parsed)).toMatchObject([{ id: 9, error: { data: { code: 'body_too_large' } } }])
  })

  test.each([
    '{"jsonrpc":"2.0","id":9,"result":7}',
    '{"jsonrpc":"2.0","id":9,"error":{}}',
    '{"method":7}',
    '7',
  ])('a message that is not a request gets no answer: %s', async (line) => {
    expect(await answersTo(line)).toEqual([])
  })
})

describe('a number that would be rounded', () => {
  test.each([
    [
      'a facade',
      '{"name":"signals","arguments":{"action":"send","params":{"payload":{"id":9007199254740993}}}}',
    ],
    ['a tool of its own', '{"name":"signals_send","arguments":{"payload":{"id":9007199254740993}}}'],
  ])(
    'a number that would be rounded is refused as the result of %s, and nothing is called',
    async (_, params) => {
      await initialize()
      const [answer] = await answersTo(call('9', params))
      expect(JSON.parse(answer ?? '')).toMatchObject({
        id: 9,
        result: {
          isError: true,
          structuredContent: {
            code: 'params_invalid',
            detail: 'payload.id: 9007199254740993 is beyond 2^53; send it as a text',
          },
        },
      })
      expect(called).toEqual([])
    },
  )

  test('a number that would be rounded is refused in any other request', async () => {
    await initialize()
    const [answer] = await answersTo(
      '{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":1e400}}',
    )
    expect(JSON.parse(answer ?? '')).toMatchObject({
      id: 9,
      error: { code: -32602, data: { code: 'params_invalid' } },
    })
  })
})

describe('a batch', () => {
  const two = `[${call('1')},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2.5,"method":"ping"}]`

  test('a batch is answered as one list in revision 2025-03-26, without its notifications', async () => {
    await initialize('2025-03-26')
    const told = await answersTo(two)
    expect(told).toHaveLength(1)
    expect(told[0]).toContain('"id":2.5')
    expect((JSON.parse(told[0] ?? '') as { id: number }[]).map(({ id }) => id).sort()).toEqual([1, 2.5])
  })

  test('the answer to a batch contains the refusals of its requests', async () => {
    await initialize('2025-03-26')
    const told = await answersTo(
      '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":7},8]',
    )
    expect(told.map(parsed)).toMatchObject([
      [
        { id: 2, error: {} },
        { id: 1, result: {} },
      ],
    ])
  })

  test('a batch of notifications gets no answer', async () => {
    await initialize('2025-03-26')
    expect(await answersTo('[{"jsonrpc":"2.0","method":"notifications/initialized"}]')).toEqual([])
  })

  test('a batch contains no answer to a request that is cancelled in it', async () => {
    await initialize('2025-03-26')
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    const told = await answersTo(`[${call('1')},${cancel},{"jsonrpc":"2.0","id":2,"method":"ping"}]`)
    expect(told.map(parsed)).toEqual([[{ jsonrpc: '2.0', id: 2, result: {} }]])
  })

  test.each([
    ['without a message', '[]', [null]],
    ['with initialize in it', '[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]', [1]],
    [
      'that is too long',
      `[${Array.from({ length: 101 }, (_, id) => call(String(id))).join()}]`,
      Array.from({ length: 101 }, (_, id) => id),
    ],
  ])('a batch with %s is refused in that revision', async (_, line, ids) => {
    await initialize('2025-03-26')
    const told = (await answersTo(line)).map((one) => JSON.parse(one) as { id: unknown; error: unknown })
    expect(told.map(({ id }) => id)).toEqual(ids)
    for (const one of told) expect(one).toMatchObject({ error: { code: -32600 } })
  })

  test.each(['2024-11-05', '2025-06-18', '2025-11-25'])(
    'a batch is refused id by id in revision %s',
    async (revision) => {
      await initialize(revision)
      const told = await answersTo(two)
      expect(told.map(parsed)).toMatchObject([
        {
          id: 1,
          error: { code: -32600, message: `Batches are not supported in revision ${revision} of MCP.` },
        },
        { id: 2.5, error: { code: -32600 } },
      ])
      expect(called).toEqual([])
    },
  )
})
