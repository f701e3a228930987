/** Tests responses that no hub should send. */
import net, { type AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { TOKENS_KEPT_MAX } from '../../../../src/bridge/hub/access.ts'
import { AnswerLost, unreachable } from '../../../../src/bridge/hub/answers.ts'
import { createUpstream } from '../../../../src/bridge/hub/upstream.ts'
import { hubPost } from '../../../../src/bridge/hub/post.ts'
import { eventually } from '../../../support/eventually.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { teamView } from '../../../support/fakes/fake-team-view.ts'

const SWITCHES = 'HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'
const GOOD_TOKEN = { token: 't', expires_in: 3_600 }
const GOOD = { jsonrpc: '2.0', id: 1, result: { content: [] } }

const saying = (value: unknown, status = 200) => {
  const body = typeof value === 'string' ? value : JSON.stringify(value)
  const head = `HTTP/1.1 ${status} X\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}`
  return `${head}\r\n\r\n${body}`
}

/** Answers every request by its path with exact bytes; null waits for `answer`. */
async function answering(answers: Record<string, string | null>) {
  const asked: string[] = []
  const bodies: string[] = []
  const open: net.Socket[] = []
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (bytes) => {
      const text = bytes.toString('latin1')
      const path = /^(?:GET|POST) (\S+)/.exec(text)?.[1] ?? ''
      asked.push(path)
      bodies.push(text)
      const told = answers[path]
      if (told === null) open.push(socket)
      else socket.end(told ?? '')
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clock = fakeClock()
  const upstream = createUpstream({
    identity: 'ada',
    session_id: () => 's',
    query: '',
    version: '0',
    clock,
    locate: () => url,
    operatorToken: () => 'operator',
  })
  onTestFinished(() => upstream.close())
  /** The request waits for a hub without a limit. */
  async function request(repeatable = false): Promise<unknown> {
    let outcome: { value: unknown } | null = null
    const settled = (value: unknown) => void (outcome = { value })
    upstream.request('tools/list', {}, { repeatable }).then(settled, settled)
    await eventually('an answer', async () => {
      await clock.advance(500)
      return outcome !== null
    })
    return outcome!.value
  }
  return { url, clock, asked, bodies, answers, request, upstream, open }
}

test('a call whose answer switches to another protocol fails like one whose connection closed', async () => {
  const hub = await answering({ '/auth/token': saying(GOOD_TOKEN), '/mcp': SWITCHES })
  expect(await hub.request()).toMatchObject({
    code: 'hub_unreachable',
    hint: 'The call may or may not have been carried out. Check before you call again.',
  })
})

test('a cancelled call is not retried', async () => {
  const { upstream, clock, asked } = await answering({ '/auth/token': saying('no token', 502) })
  const given_up = new AbortController()
  const outcome = upstream
    .request('tools/list', {}, { repeatable: true, abort: given_up.signal })
    .catch((error: unknown) => error)
  await eventually('it waits for the next try', () => clock.armed() === 1)
  given_up.abort()
  expect(await outcome).toBe(given_up.signal.reason)
  expect(clock.armed()).toBe(0)
  expect(asked).toEqual(['/auth/token'])
})

test('an answer that is too long is refused at once, because a retry would return the same', async () => {
  const hub = await answering({
    '/auth/token': saying(GOOD_TOKEN),
    '/mcp': saying('x'.repeat(LIMITS.bridge_answer_bytes_max + 1)),
  })
  expect(await hub.request(true)).toMatchObject({
    code: 'answer_too_large',
    detail: expect.stringContaining(String(LIMITS.bridge_answer_bytes_max)) as string,
  })
  expect(hub.asked).toEqual(['/auth/token', '/mcp'])
})

test('an answer may be nested as deeply as what any hub has stored', async () => {
  const depth = LIMITS.journal_depth_max
  const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`
  const answer = `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"signals":[{"payload":${deep}}]}}}`
  const hub = await answering({ '/auth/token': saying(GOOD_TOKEN), '/mcp': saying(answer) })
  expect(JSON.stringify(await hub.request())).toContain(deep)
})

test('a stream with an endless event is closed', async () => {
  const head = 'HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\ndata: '
  const { url, clock } = await answering({ '/mcp': head + 'x'.repeat(LIMITS.bridge_answer_bytes_max) })
  const http = hubPost(clock)
  onTestFinished(() => http.close())
  const stream = http.stream(`${url}/mcp`, {}, {}, new AbortController().signal, () => {})
  await expect(stream).rejects.toMatchObject({ code: 'answer_too_large' })
})

test('a stream whose answer switches to another protocol ends', async () => {
  const { url, clock } = await answering({ '/mcp': SWITCHES })
  const http = hubPost(clock)
  onTestFinished(() => http.close())
  const stream = http.stream(`${url}/mcp`, {}, {}, new AbortController().signal, () => {})
  await expect(stream).rejects.toMatchObject({ unsent: false })
})

test.each([
  ['no JSON', 'hello', 200],
  ['nothing', '', 200],
  ['another form', { token: 7 }, 200],
  ['a token that no header carries', { token: 'a\nb', expires_in: 3_600 }, 200],
  ['an empty token', { token: '', expires_in: 3_600 }, 200],
  ['no problem', '<html>', 502],
])("a token answered with %s is not a hub's, so the call is retried", async (_, told, status) => {
  const hub = await answering({ '/auth/token': saying(told, status), '/mcp': saying(GOOD) })
  const refused = (await hub.request()) as TurnbellError
  expect(refused.code).toBe('hub_unreachable')
  expect(refused.hint).toContain('turnbell up')
  expect(refused.detail).toContain(`answered ${status} to /auth/token`)
  expect(new Set(hub.asked)).toEqual(new Set(['/auth/token']))
  hub.answers['/auth/token'] = saying(GOOD_TOKEN)
  expect(await hub.request()).toEqual(GOOD.result)
})

test.each([1.5, 1e300])(
  'an error with the code %d is not passed on, because no client could read it',
  async (code) => {
    const error = saying({ jsonrpc: '2.0', id: 1, error: { code, message: 'm' } })
    const hub = await answering({ '/auth/token': saying(GOOD_TOKEN), '/mcp': error })
    expect(await hub.request()).toMatchObject({ name: 'TurnbellError', code: 'hub_unreachable' })
  },
)

test.each([
  ['no JSON', '<html>', 404],
  ['nothing', '', 200],
  ['another form', { ok: true }, 200],
])("a call answered with %s is not a hub's, so it is retried", async (_, told, status) => {
  const hub = await answering({ '/auth/token': saying(GOOD_TOKEN), '/mcp': saying(told, status) })
  const refused = (await hub.request(true)) as TurnbellError
  expect(refused).toMatchObject({
    code: 'hub_unreachable',
    hint: expect.stringContaining('may or may not') as string,
  })
  expect(refused.detail).toContain(`answered ${status}`)
  expect(hub.asked.length).toBeGreaterThan(2)
  hub.answers['/mcp'] = saying(GOOD)
  expect(await hub.request()).toEqual(GOOD.result)
})

test('an error with an integer code is passed on unchanged', async () => {
  const error = { code: -32_602, message: 'm', data: { x: 1 } }
  const hub = await answering({
    '/auth/token': saying(GOOD_TOKEN),
    '/mcp': saying({ jsonrpc: '2.0', id: 1, error }),
  })
  expect(await hub.request()).toMatchObject(error)
})

test('a failed token request does not count as a sent call, which is retried', async () => {
  const hub = await answering({ '/auth/token': '', '/mcp': saying(GOOD) })
  const request = hub.request()
  await eventually('it was asked for', () => hub.asked.length > 0)
  hub.answers['/auth/token'] = saying(GOOD_TOKEN)
  expect(await request).toEqual(GOOD.result)
})

describe('an answer that takes more than a minute', () => {
  const waitingFor = async (answer_ms: number | undefined) => {
    const hub = await answering({ '/auth/token': saying(GOOD_TOKEN), '/mcp': null })
    const options = { repeatable: false, ...(answer_ms === undefined ? {} : { answer_ms }) }
    const call = hub.upstream.request('tools/call', {}, options).catch((error: unknown) => error)
    await eventually('it was asked', () => hub.open.length > 0)
    await hub.clock.advance(LIMITS.bridge_answer_ms + 1_000)
    hub.open[0]?.end(saying(GOOD))
    return call
  }

  test('a long answer is awaited if that is allowed', async () => {
    expect(await waitingFor(LIMITS.bridge_answer_ms * 2)).toEqual(GOOD.result)
  })

  test('a long answer is lost otherwise, and the error contains the time waited', async () => {
    expect(await waitingFor(undefined)).toMatchObject({
      code: 'hub_unreachable',
      waited_ms: LIMITS.bridge_answer_ms,
    })
  })
})

test('each session has its own token, which is kept while others are used', async () => {
  const hub = await answering({ '/auth/token': saying(GOOD_TOKEN), '/mcp': saying(GOOD) })
  const ask = (session_id: string) => hub.upstream.request('tools/list', {}, { repeatable: true, session_id })
  for (const session_id of ['t1', 't2', 't1']) await ask(session_id)
  const tokens = () => hub.bodies.flatMap((text) => /"session_id":"(\w+)"/.exec(text)?.[1] ?? [])
  expect(tokens()).toEqual(['t1', 't2'])
  for (let nth = 0; nth < TOKENS_KEPT_MAX; nth += 1) await ask(`s${nth}`)
  await ask('t1')
  expect(tokens().filter((session_id) => session_id === 't1')).toHaveLength(2)
})

test('only a lost answer is an AnswerLost, not any refusal', () => {
  expect(new AnswerLost(new Error('gone'))).toBeInstanceOf(AnswerLost)
  expect(unreachable(new Error('away'))).not.toBeInstanceOf(AnswerLost)
})

test('a call in a removed home is refused at once, and no hub is started', async () => {
  const clock = fakeClock()
  let missed = 0
  const removed = new TurnbellError('hub_unreachable', { detail: 'the home was removed' })
  const upstream = createUpstream({
    identity: 'ada',
    session_id: () => 's',
    query: '',
    version: '0',
    clock,
    locate: () => {
      throw new TurnbellError('hub_unreachable', { detail: 'no hub runs' })
    },
    operatorToken: () => null,
    removedHome: () => removed,
    onHubMissing: () => void (missed += 1),
  })
  onTestFinished(() => upstream.close())
  await expect(upstream.request('tools/call', {}, { repeatable: true })).rejects.toBe(removed)
  expect([missed, clock.armed()]).toEqual([0, 0])
})

describe('the team view', () => {
  const TOKEN = { '/auth/token': saying(GOOD_TOKEN) }

  test('the team view is read with the token of the session, by a request without a body', async () => {
    const hub = await answering({ ...TOKEN, '/team': saying(teamView({ blocks: ['bob'] })) })
    expect(await hub.upstream.teamView(1_000)).toMatchObject({ identity: 'ada', blocks: ['bob'] })
    expect(hub.bodies.at(-1)).toMatch(/^GET \/team HTTP\/1.1\r\n/)
    expect(hub.bodies.at(-1)).toContain('authorization: Bearer t\r\n')
    expect(hub.bodies.at(-1)).not.toContain('content-length')
  })

  test.each([
    ['another form', { identity: 'ada' }],
    ['a name with control characters', teamView({ blocks: ['\u001b[2Jbob'] })],
    ['too many names', teamView({ blocks: Array.from({ length: 100 }, () => 'bob') })],
  ])('a team view of %s is rejected', async (_, told) => {
    const hub = await answering({ ...TOKEN, '/team': saying(told) })
    await expect(hub.upstream.teamView(1_000)).rejects.toThrow()
  })

  test('only a hub that did not answer is reported as unreachable', async () => {
    const hub = await answering({
      ...TOKEN,
      '/team': 'HTTP/1.1 200 X\r\nconnection: close\r\ncontent-length: 9\r\n\r\n{',
    })
    await expect(hub.upstream.teamView(100)).rejects.toMatchObject({ code: 'hub_unreachable' })
    hub.answers['/team'] = saying('not found', 404)
    const failure = await hub.upstream.teamView(1_000).catch((error: unknown) => error)
    expect(failure).not.toBeInstanceOf(TurnbellError)
  })

  test('a read is tried once, and after a rejected token the next one gets another token', async () => {
    const hub = await answering({ ...TOKEN, '/team': saying('{}', 401) })
    await expect(hub.upstream.teamView(1_000)).rejects.toThrow()
    hub.answers['/team'] = saying(teamView())
    await hub.upstream.teamView(1_000)
    await hub.upstream.teamView(1_000)
    expect(hub.asked).toEqual(['/auth/token', '/team', '/auth/token', '/team', '/team'])
  })
})

describe('a report of activity', () => {
  const TOKEN = { '/auth/token': saying(GOOD_TOKEN) }
  const RECEIPT = { accepted: 0, duplicates: 0, next_seq: 7 }
  const report = { session_id: 's', client: 'claude-code', events: [] }

  test.each([200, 202])(
    'a report is sent with the token of its session, and status %i takes it',
    async (status) => {
      const hub = await answering({ ...TOKEN, '/activity': saying(RECEIPT, status) })
      expect(await hub.upstream.reportActivity(report, 1_000)).toEqual(RECEIPT)
      expect(hub.bodies.at(-1)).toMatch(/^POST \/activity HTTP\/1.1\r\n/)
      expect(hub.bodies.at(-1)).toContain('authorization: Bearer t\r\n')
      expect(hub.bodies.at(-1)).toContain(JSON.stringify(report))
    },
  )

  test('a report is tried once, and after a rejected token the next one gets another token', async () => {
    const hub = await answering({ ...TOKEN, '/activity': saying('{}', 401) })
    await expect(hub.upstream.reportActivity(report, 1_000)).rejects.toThrow()
    hub.answers['/activity'] = saying(RECEIPT)
    await hub.upstream.reportActivity(report, 1_000)
    expect(hub.asked).toEqual(['/auth/token', '/activity', '/auth/token', '/activity'])
  })

  test('a hub without the route, or with another answer, has not taken the report', async () => {
    const hub = await answering({ ...TOKEN, '/activity': saying('not found', 404) })
    await expect(hub.upstream.reportActivity(report, 1_000)).rejects.toThrow()
    hub.answers['/activity'] = saying({ taken: true })
    await expect(hub.upstream.reportActivity(report, 1_000)).rejects.toThrow()
  })
})
