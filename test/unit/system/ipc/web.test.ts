/** Real requests to a real server on loopback; time is simulated. */
import { createServer, type IncomingMessage, type ServerResponse, type Server } from 'node:http'
import { createServer as createPlainServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { WebRequest } from '../../../../src/ports/web.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { createWeb } from '../../../../src/system/ipc/web.ts'
import { eventually } from '../../../support/eventually.ts'
import { fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { refusedWith } from '../../../support/worlds/small-hub.ts'

let server: Server
let url: string
let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void
let seen: {
  method: string | undefined
  url: string | undefined
  headers: IncomingMessage['headers']
  body: string
}[]
let clock: FakeClock

beforeEach(async () => {
  seen = []
  clock = fakeClock()
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      seen.push({ method: request.method, url: request.url, headers: request.headers, body })
      answer(request, response, body)
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const ask = (more: Partial<WebRequest> = {}) =>
  createWeb({ clock }).request({
    url: `${url}/path?q=1`,
    method: 'GET',
    headers: {},
    timeout_ms: 1_000,
    response_bytes_max: 100,
    ...more,
  })

describe('a request', () => {
  test('a request and its response arrive unchanged', async () => {
    answer = (_, response) =>
      response.writeHead(201, { 'X-Two': ['a', 'b'], 'Content-Type': 'text/plain' }).end('grüß')
    const got = await ask({ method: 'POST', headers: { 'X-One': '1', 'User-Agent': 'me' }, body: 'ä' })
    expect(seen).toMatchObject([
      {
        method: 'POST',
        url: '/path?q=1',
        body: 'ä',
        headers: { 'x-one': '1', 'user-agent': 'me', 'content-length': '2' },
      },
    ])
    expect(got).toMatchObject({ status: 201, body: 'grüß', truncated: false })
    expect(got.headers).toMatchObject({ 'x-two': 'a, b', 'content-type': 'text/plain' })
    expect(clock.armed()).toBe(0)
  })

  test.each([301, 302, 307, 308])('follows no redirect: %d', async (status) => {
    answer = (_, response) => response.writeHead(status, { location: '/elsewhere' }).end()
    expect(await ask()).toMatchObject({ status, headers: { location: '/elsewhere' } })
    expect(seen).toHaveLength(1)
  })

  test('a response is read up to the limit, without splitting a character, and then closed', async () => {
    let gone = false
    answer = (_, response) => {
      response.on('close', () => (gone = true))
      response.writeHead(200)
      response.write('x€'.repeat(1_000))
    }
    const { body, truncated } = await ask()
    expect([body, truncated]).toEqual(['x€'.repeat(25), true])
    await eventually('the server noticed', () => gone)
  })

  test('a request without a response times out', async () => {
    answer = (_, response) => response.writeHead(200).write('the beginning')
    const asking = refusedWith(() => ask())
    await eventually('it was asked', () => seen.length === 1)
    await clock.advance(1_000)
    expect(await asking).toBe('timed_out')
  })

  test('a response that switches to another protocol is rejected', async () => {
    const talker = createPlainServer((socket) =>
      socket
        .on('error', () => {})
        .once('data', () => socket.write('HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')),
    )
    await new Promise<void>((listening) => talker.listen(0, '127.0.0.1', listening))
    const { port } = talker.address() as AddressInfo
    expect(await refusedWith(() => ask({ url: `http://127.0.0.1:${port}/` }))).toBe('request_failed')
    expect(clock.armed()).toBe(0)
    // The connection has ended: nothing keeps the server.
    await new Promise((closed) => talker.close(closed))
  })

  test('an incomplete response is rejected', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': '50' })
      response.write('by half', () => response.destroy())
    }
    expect(await refusedWith(() => ask())).toBe('request_failed')
    expect(clock.armed()).toBe(0)
  })

  test('a request without a response, or with one that is not HTTP, is rejected', async () => {
    const talker = createPlainServer((socket) => socket.resume().end('hello\r\n\r\n'))
    await new Promise<void>((listening) => talker.listen(0, '127.0.0.1', listening))
    const { port } = talker.address() as AddressInfo
    expect(await refusedWith(() => ask({ url: `http://127.0.0.1:${port}/` }))).toBe('request_failed')
    await new Promise((closed) => talker.close(closed))
    expect(await refusedWith(() => ask({ url: `http://127.0.0.1:${port}/` }))).toBe('request_failed')
  })

  test('the error of an invalid request omits its headers and its query', async () => {
    const secret = 'the-secret\n'
    const refused: unknown = await ask({
      headers: { authorization: secret },
      url: `${url}/a?token=the-secret`,
    }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(TurnbellError)
    expect(refused).toMatchObject({ code: 'request_failed' })
    expect((refused as TurnbellError).detail).toContain('authorization')
    expect((refused as TurnbellError).detail).not.toContain('the-secret')
    expect(seen).toEqual([])
  })
})
