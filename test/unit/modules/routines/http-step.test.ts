/** Tests HTTP steps: permitted addresses, permitted contents, and values that are never reported. */
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import type { Json } from '../../../../src/contracts/ids.ts'
import type { SandboxPolicy } from '../../../../src/contracts/sandbox-policy.ts'
import type { RoutineStep } from '../../../../src/contracts/runs/routine.ts'
import type { WebResponse, WebRequest } from '../../../../src/ports/web.ts'
import { playedOutside } from '../../../support/fakes/fake-outside.ts'
import { routineWorld } from '../../../support/worlds/routine-world.ts'

const SECRET = 'tok"en-4711'

function world(
  web: (request: WebRequest) => Partial<WebResponse>,
  policy: Partial<SandboxPolicy> = {},
  secret = SECRET,
) {
  const outside = playedOutside({ web, variables: { API_TOKEN: secret } })
  const played = routineWorld({
    outside,
    sandbox: { network: ['api.example', 'other.example:443'], env: ['API_TOKEN'], ...policy },
  })
  const ask = async (
    told: Record<string, Json>,
    how: { dry_run?: boolean; params?: Record<string, Json> } = {},
  ) => {
    const step: RoutineStep = { step: 'http', with: { url: 'http://api.example/v1', ...told } }
    const { report } = await played.run([step], how)
    return report.steps[0]
  }
  return { ask, asked: outside.asked, logged: played.logged }
}

describe('a request', () => {
  test('a request returns status, headers and body, parsed if it is JSON', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8', 'set-cookie': 'session=1' }
    const { ask } = world(({ method }) =>
      method === 'GET' ? { headers, body: '{"a":[1]}' } : { body: 'text' },
    )
    expect(await ask({})).toMatchObject({
      status: 'ok',
      result: {
        status: 200,
        json: { a: [1] },
        headers: { 'content-type': headers['content-type'] },
        cut: false,
      },
    })
    expect(JSON.stringify(await ask({}))).not.toContain('session=1')
    expect(await ask({ method: 'POST' })).toMatchObject({ result: { body: 'text' } })
  })

  test('a request sends a text unchanged, and anything else as JSON', async () => {
    const { ask, asked } = world(() => ({}))
    await ask({
      method: 'POST',
      body: 'a=1',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    })
    await ask({ method: 'PUT', body: { a: 1 } })
    await ask({ method: 'PATCH', body: [1], headers: { 'Content-Type': 'application/merge-patch+json' } })
    expect(asked).toMatchObject([
      { body: 'a=1', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
      { body: '{"a":1}', headers: { 'content-type': 'application/json' } },
      { body: '[1]', headers: { 'Content-Type': 'application/merge-patch+json' } },
    ])
  })

  test.each([
    [{ status: 404 }, {}, 'failed'],
    [{ status: 500 }, {}, 'failed'],
    [{ status: 304 }, {}, 'failed'],
    [{ status: 204 }, {}, 'ok'],
    [{ status: 404 }, { expect_status: 404 }, 'ok'],
    [{ status: 200 }, { expect_status: 404 }, 'failed'],
  ])('a request answered with %j, expecting %j: %s', async (answer, told, status) => {
    const { ask } = world(() => answer)
    const ended = await ask(told)
    expect(ended).toMatchObject({ status, result: { status: answer.status } })
    if (status === 'failed') expect(ended?.problem?.code).toBe('request_failed')
  })

  test('a dry run makes a reading request, and not a changing one', async () => {
    const { ask, asked } = world(() => ({}))
    expect(await ask({}, { dry_run: true })).toMatchObject({ status: 'ok' })
    expect(await ask({ method: 'DELETE' }, { dry_run: true })).toMatchObject({ status: 'planned' })
    expect(asked).toHaveLength(1)
  })

  test.each<[Record<string, Json>]>([
    [{ url: 'example' }],
    [{ url: '/v1' }],
    [{ url: 'ftp://api.example/' }],
    [{ url: 'file:///etc/passwd' }],
    [{ url: 'javascript:alert(1)' }],
    [{ url: 'http://user:pass@api.example/' }],
    [{ url: 'http://user@api.example/' }],
    [{ url: 'http://api.example/?access_token=x' }],
    [{ url: 'http://api.example/?a=1&API_KEY=x' }],
    [{ method: 'TRACE' }],
    [{ method: 'get' }],
    [{ body: 'x' }],
    [{ method: 'HEAD', body: {} }],
    [{ headers: { host: 'other.example' } }],
    [{ headers: { 'Transfer-Encoding': 'chunked' } }],
    [{ headers: { 'content-length': '5' } }],
    [{ headers: { 'a b': 'x' } }],
    [{ headers: { 'a:b': 'x' } }],
    [{ headers: { a: 1 } }],
    [{ timeout_ms: 1 }],
    [{ redirect: 'follow' }],
  ])('an invalid request is not made: %j', async (told) => {
    const { ask, asked } = world(() => ({}))
    expect(await ask(told)).toMatchObject({ status: 'failed', problem: { code: 'params_invalid' } })
    expect(asked).toEqual([])
  })

  test('a request outside of the sandbox policy is not attempted', async () => {
    const { ask, asked } = world(() => ({}))
    for (const dry_run of [true, false])
      for (const url of ['http://evil.example/', 'http://other.example/', 'http://api.example.evil.example/'])
        expect(await ask({ url }, { dry_run })).toMatchObject({ problem: { code: 'leash_forbidden' } })
    expect(asked).toEqual([])
  })
})

describe('a redirect', () => {
  const leading = (location: string, status = 302) =>
    world(({ url }) => (url === 'http://api.example/v1' ? { status, headers: { location } } : { body: url }))

  test('a permitted redirect is followed as a reading request', async () => {
    const { ask, asked } = leading('/v2?page=2')
    expect(await ask({ headers: { 'X-A': '1' } })).toMatchObject({
      status: 'ok',
      result: { url: 'http://api.example/v2', body: 'http://api.example/v2?page=2' },
    })
    expect(asked.at(-1)).toMatchObject({ headers: { 'X-A': '1' } })
  })

  test.each([
    'http://evil.example/',
    '//evil.example/',
    'http://other.example/',
    'http://api.example.evil.example/',
    'https://evil.example\\@api.example/',
  ])('a forbidden redirect is not followed: %s', async (location) => {
    const { ask, asked } = leading(location)
    expect(await ask({})).toMatchObject({ status: 'failed', problem: { code: 'leash_forbidden' } })
    expect(asked).toHaveLength(1)
  })

  test.each(['http://user:pass@api.example/', 'file:///etc/passwd', 'ftp://api.example/'])(
    'a redirect to an invalid address is not followed: %s',
    async (location) => {
      const { ask, asked } = leading(location)
      expect(await ask({})).toMatchObject({ status: 'failed', problem: { code: 'params_invalid' } })
      expect(asked).toHaveLength(1)
    },
  )

  test('a redirect to another origin carries no headers, and so no secret', async () => {
    const { ask, asked } = leading('https://other.example/')
    await ask({ headers: { authorization: { $env: 'API_TOKEN' }, 'X-A': '1' } })
    expect(asked).toHaveLength(2)
    expect(asked[1]?.url).toBe('https://other.example/')
    expect(asked[1]?.headers).toEqual({})
  })

  test('a redirect of a changing request is returned, not followed', async () => {
    const { ask, asked } = leading('/v2', 307)
    expect(await ask({ method: 'POST', body: {} })).toMatchObject({
      status: 'failed',
      result: { status: 307, headers: { location: '/v2' } },
    })
    expect(asked).toHaveLength(1)
  })

  test('a chain of redirects ends with an error', async () => {
    const { ask, asked } = world(() => ({ status: 301, headers: { location: '/v1' } }))
    expect(await ask({})).toMatchObject({ status: 'failed', result: { status: 301 } })
    expect(asked).toHaveLength(6)
  })
})

describe('a secret', () => {
  const header = { authorization: { $env: 'API_TOKEN', prefix: 'Bearer ' } }

  test('a secret is sent and never shown, whatever the answer repeats', async () => {
    const repeated = (request: WebRequest) => String(request.headers['authorization'])
    const { ask, asked, logged } = world((request) => ({
      headers: { 'content-type': 'application/json', 'x-echo': repeated(request) },
      body: JSON.stringify({ got: repeated(request) }),
    }))
    const ended = await ask({ headers: header })
    expect(asked).toMatchObject([{ headers: { authorization: `Bearer ${SECRET}` } }])
    expect(ended).toMatchObject({
      status: 'ok',
      result: { json: { got: 'Bearer [API_TOKEN]' }, headers: { 'x-echo': 'Bearer [API_TOKEN]' } },
    })
    expect(JSON.stringify([ended, logged])).not.toContain('4711')
  })

  test('a secret is not shown partly where the answer was cut', async () => {
    for (let length = 1; length <= SECRET.length; length++) {
      const { ask } = world(() => ({ body: `you said ${SECRET.slice(0, length)}`, truncated: true }))
      const ended = await ask({ headers: header })
      expect(ended?.result).toMatchObject({
        body: expect.stringMatching(/^you said (\[API_TOKEN\])?$/) as string,
      })
    }
  })

  test('a secret is not shown by a failing request or in the log', async () => {
    const { ask, logged } = world(() => {
      throw new Error(`connect failed for ${SECRET}`)
    })
    const ended = await ask({ headers: header })
    expect(ended).toMatchObject({ problem: { code: 'internal' } })
    expect(logged).toHaveLength(1)
    expect(inspect([ended, logged], { depth: 9 })).not.toContain('4711')
  })

  describe('that a redirect repeats', () => {
    const ODD = 'Ab/c+d "4711'
    const WAYS: [string, string, string][] = [
      ['in a path', SECRET, `/login/${SECRET}`],
      ['in a path, encoded', ODD, `/login/${encodeURIComponent(ODD)}/x`],
      ['in a path, encoded in lower case', ODD, '/login/Ab%2fc%2bd%20%224711'],
      ['in a path, encoded where required', ODD, `/login/${ODD}`],
      ['in a path, encoded like a form', ODD, '/login/Ab%2Fc%2Bd+%224711'],
      ['in a query', SECRET, `/login?state=${SECRET}`],
      ['in a host name', 'Token-4711', 'http://Token-4711.evil.example/'],
      ['partly in a host name', `T4711${'x'.repeat(300)}`, `http://T4711${'x'.repeat(200)}/`],
      ['in an invalid address', SECRET, `ftp://evil.example/${SECRET}`],
    ]
    const led = (secret: string, location: string, then: (url: string) => Partial<WebResponse>) =>
      world(
        ({ url }) => (url.endsWith('/v1') ? { status: 302, headers: { location } } : then(url)),
        {},
        secret,
      )

    test.each(WAYS)(
      'a secret repeated %s is not shown in a rejected redirect',
      async (_, secret, location) => {
        const { ask, logged } = led(secret, location, () => ({ status: 401 }))
        const ended = await ask({ headers: header })
        expect(ended?.status).toBe('failed')
        expect(inspect([ended, logged], { depth: 9 })).not.toContain('4711')
      },
    )

    test.each(WAYS)('a secret repeated %s is not shown in a failed request', async (_, secret, location) => {
      const { ask, logged } = led(secret, location, (url) => {
        const detail = `GET ${url}: connect ECONNREFUSED`
        throw new TurnbellError('request_failed', { detail, hint: detail, cause: new Error(detail) })
      })
      const ended = await ask({ headers: header })
      expect(ended?.status).toBe('failed')
      expect(inspect([ended, logged], { depth: 9 })).not.toContain('4711')
    })
  })

  describe('that JSON repeats', () => {
    const ODD = 'Ab/c+é"<4711'
    const WAYS: [string, string][] = [
      ['with escaped slashes', String.raw`Ab\/c+é\"<4711`],
      ['in ASCII', String.raw`Ab/c+\u00e9\"<4711`],
      ['as Go does', String.raw`Ab/c+é\"\u003c4711`],
      ['with escaped signs', String.raw`Ab/c\u002B\u00E9\u0022\u003C4711`],
      ['with an unnecessarily escaped letter', String.raw`\u0041b/c+é\"<4711`],
    ]

    test.each(WAYS)('a secret repeated %s is not shown in a value or a name', async (_, spelled) => {
      const headers = { 'content-type': 'application/json' }
      const { ask } = world(() => ({ headers, body: `{"${spelled}":["you said ${spelled}"]}` }), {}, ODD)
      const ended = await ask({ headers: header })
      expect(ended?.result).toMatchObject({ json: { '[API_TOKEN]': ['you said [API_TOKEN]'] } })
    })

    test.each(WAYS.slice(0, -1))('a secret repeated %s is not shown in invalid JSON', async (_, spelled) => {
      const { ask } = world(() => ({ body: `you said ${spelled}` }), {}, ODD)
      expect((await ask({ headers: header }))?.result).toMatchObject({ body: 'you said [API_TOKEN]' })
    })
  })

  test('a secret that is forbidden or not set is not sent', async () => {
    const { ask, asked } = world(() => ({}), { env: ['UNSET'] })
    for (const dry_run of [true, false]) {
      expect(await ask({ method: 'POST', headers: header }, { dry_run })).toMatchObject({
        problem: { code: 'leash_forbidden' },
      })
      expect(
        await ask({ method: 'POST', headers: { authorization: { $env: 'UNSET' } } }, { dry_run }),
      ).toMatchObject({
        problem: { code: 'params_invalid' },
      })
    }
    expect(asked).toEqual([])
  })

  test.each([
    'authorization',
    'Authorization',
    'COOKIE',
    'x-api-key',
    'X-Auth-Token',
    'private-token',
    'x-secret',
  ])('a plain secret is rejected in the header %s, whatever its source, and not repeated', async (name) => {
    const { ask, asked } = world(() => ({}))
    const ended = await ask({ headers: { [name]: { $param: 'value' } } }, { params: { value: 'hunter2' } })
    expect(ended).toMatchObject({
      problem: { code: 'params_invalid', detail: expect.stringContaining('{"$env": "API_TOKEN"') as string },
    })
    expect(JSON.stringify(ended)).not.toContain('hunter2')
    expect(asked).toEqual([])
  })

  test.each(['accept', 'idempotency-key', 'if-match', 'x-request-id', 'author'])(
    'an ordinary value is accepted in the header %s',
    async (name) => {
      const { ask } = world(() => ({}))
      expect(await ask({ headers: { [name]: 'x' } })).toMatchObject({ status: 'ok' })
    },
  )

  test.each([
    { $env: '' },
    { $env: 1 },
    { $env: 'API_TOKEN', prefix: 'Bearer abc ' },
    { $env: 'API_TOKEN', more: 1 },
  ])('a secret reference must be plain, not %j', async (reference) => {
    const { ask } = world(() => ({}))
    expect(await ask({ headers: { authorization: reference } })).toMatchObject({
      problem: { code: 'params_invalid' },
    })
  })
})
