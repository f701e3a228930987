import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createHubClient, mayBeDone } from '../../../../src/cli/hub/client.ts'
import { toProblem, TurnbellError } from '../../../../src/contracts/errors/errors.ts'

const URL = 'http://127.0.0.1:4888'
const answering =
  (response: () => Response): typeof fetch =>
  async () =>
    response()
const failing =
  (error: Error): typeof fetch =>
  async () => {
    throw error
  }
const codeOf = async (promise: Promise<unknown>) =>
  promise.then(
    () => 'no refusal',
    (error: unknown) => (error instanceof TurnbellError ? error.code : String(error)),
  )

describe('an unreachable hub', () => {
  test.each([
    [
      'no process listens',
      new TypeError('fetch failed', { cause: withCode('ECONNREFUSED') }),
      'hub_unreachable',
      false,
    ],
    [
      'no such host',
      new TypeError('fetch failed', { cause: withCode('ENOTFOUND') }),
      'hub_unreachable',
      false,
    ],
    [
      'every address refuses',
      new TypeError('fetch failed', { cause: new AggregateError([withCode('ECONNREFUSED')]) }),
      'hub_unreachable',
      false,
    ],
    [
      'it breaks off',
      new TypeError('terminated', { cause: withCode('ECONNRESET') }),
      'hub_unreachable',
      true,
    ],
    ['no answer in time', new DOMException('late', 'TimeoutError'), 'timed_out', true],
  ])('a request to a hub fails: %s', async (_, error, code, may_be_done) => {
    const hub = createHubClient(failing(error), URL, null)
    const refused = await hub.call('signals', 'send').catch((reason: unknown) => reason)
    expect(refused).toMatchObject({ code })
    expect(mayBeDone(refused)).toBe(may_be_done)
    expect(await hub.ready()).toBe(false)
  })

  test('another program on the port is not accepted as a hub', async () => {
    const page = () => new Response('<h1>It works!</h1>', { headers: { 'content-type': 'text/html' } })
    for (const response of [page, () => new Response('', { status: 502 }), () => Response.json({ ok: 1 })]) {
      const hub = createHubClient(answering(response), URL, null)
      expect(await codeOf(hub.call('signals', 'send'))).toBe('hub_unreachable')
    }
    const none = createHubClient(answering(page), URL, null).call('signals', 'send')
    expect(mayBeDone(await none.catch((reason: unknown) => reason))).toBe(false)
  })

  test('an answer of an unexpected form is refused', async () => {
    const hub = createHubClient(
      answering(() => Response.json({ result: { signal_id: 7 } })),
      URL,
      null,
    )
    expect(await codeOf(hub.ask('signals', 'send', {}, z.object({ signal_id: z.string() })))).toBe(
      'hub_unreachable',
    )
  })
})

test('a call waits for its answer until its timeout', async () => {
  const silent: typeof fetch = (_, init) =>
    new Promise((_answer, reject) => {
      const given_up = init?.signal
      given_up?.addEventListener('abort', () => reject(given_up.reason as Error))
    })
  await expect(
    createHubClient(silent, URL, null).call('routine', 'run', {}, undefined, 1),
  ).rejects.toMatchObject({ code: 'timed_out', detail: `${URL} did not answer within 1 ms.` })
})

test('a problem of the hub is thrown as the same error with its hint', async () => {
  const error = new TurnbellError('target_wrapped', { detail: 'ada is wrapped', hint: 'wake her' })
  const hub = createHubClient(
    answering(() => Response.json(toProblem(error, 'x'), { status: 409 })),
    URL,
    null,
  )
  await expect(hub.call('signals', 'send')).rejects.toMatchObject({
    code: 'target_wrapped',
    detail: 'ada is wrapped',
    hint: 'wake her',
  })
})

test('a call sends the token, and a persona has a token of its own', async () => {
  const seen: [string, string | null][] = []
  const hub = createHubClient(
    async (input, init) => {
      seen.push([input as string, new Headers(init?.headers).get('authorization')])
      const isToken = (input as string).endsWith('/auth/token')
      return Response.json(isToken ? { token: 'agent-token', expires_in: 3600 } : { result: 1 })
    },
    URL,
    'operator-token',
  )
  const agent = await hub.as('ada', 'agent', 's1')
  expect(await agent.call('signals', 'inbox')).toBe(1)
  expect(seen).toEqual([
    [`${URL}/auth/token`, 'Bearer operator-token'],
    [`${URL}/call`, 'Bearer agent-token'],
  ])
})

function withCode(code: string): Error {
  return Object.assign(new Error(code), { code })
}
