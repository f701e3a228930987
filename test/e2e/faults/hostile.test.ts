/** Sends invalid protocol data to everything that listens. */
import { createHmac } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { hubHttp } from '../../support/worlds/hub-http.ts'
import { end, type Running, startDaemon, startHub, temporaryHome } from '../../support/processes/processes.ts'

const running: Running[] = []
const keep = <T extends Running>(process_: T): T => {
  running.push(process_)
  return process_
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((process_) => end(process_, 'SIGTERM')))
})

/** Sends bytes to a local socket and collects the response until it closes, or until `lines` arrived. */
function converse(
  socket: string,
  bytes: string | Buffer,
  lines: number,
): Promise<{ answers: unknown[]; closed: boolean }> {
  return new Promise((resolve, reject) => {
    let text = ''
    const answers = () =>
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as unknown)
    const client = net.connect(socket, () => client.write(bytes))
    client.on('data', (chunk) => {
      text += chunk.toString()
      if (answers().length >= lines) {
        resolve({ answers: answers(), closed: false })
        client.destroy()
      }
    })
    client.on('close', () => resolve({ answers: answers(), closed: true }))
    client.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error)
    })
  })
}

const NOISE = [
  '',
  '{',
  'null',
  '[]',
  '"x"',
  '{"jsonrpc":"1.0","id":1,"method":"status"}',
  '{"jsonrpc":"2.0","id":1}',
  '\u0000\u0001\u0002',
]

describe('the local sockets', () => {
  test.each(['control.sock', 'surface.sock'])(
    '%s answers invalid input with errors and keeps running',
    async (name) => {
      const home = temporaryHome()
      const daemon = keep(await startDaemon(home, 'ada', ['--surface', 'mcp']))
      const socket = path.join(path.dirname(daemon.control_socket), name)
      for (const noise of NOISE.slice(1)) {
        const { answers } = await converse(socket, `${noise}\n`, 1)
        expect(answers, JSON.stringify(noise)).toMatchObject([{ jsonrpc: '2.0', error: {} }])
      }
      const long = await converse(socket, Buffer.alloc(LIMITS.line_bytes_max + 10, 'x'), 2)
      expect(long.answers).toMatchObject([{ error: { data: { code: 'line_too_long' } } }])
      expect(long.closed).toBe(true)

      const status = await converse(daemon.control_socket, '{"jsonrpc":"2.0","id":1,"method":"status"}\n', 1)
      expect(status.answers).toMatchObject([{ id: 1, result: { identity: 'ada' } }])
    },
  )

  test('the control socket accepts four verbs and one persona', async () => {
    const daemon = keep(await startDaemon(temporaryHome(), 'ada', ['--surface', 'mcp']))
    const ask = async (method: string, params: object) =>
      (
        await converse(
          daemon.control_socket,
          `${JSON.stringify({ jsonrpc: '2.0', id: 7, method, params })}\n`,
          1,
        )
      ).answers[0]
    expect(await ask('drain', {})).toMatchObject({
      id: 7,
      error: { code: -32601, data: { code: 'unknown_verb' } },
    })
    expect(await ask('status', { identity: 'bob' })).toMatchObject({
      error: { data: { code: 'identity_mismatch' } },
    })
    expect(await ask('shutdown', { identity: 'bob' })).toMatchObject({
      error: { data: { code: 'identity_mismatch' } },
    })
    expect(await ask('status', { identity: 'ada' })).toMatchObject({ result: { identity: 'ada' } })
  })
})

describe('the hub', () => {
  const tokenFor = (home: string, payload: object, key?: string): string => {
    const body = Buffer.from(JSON.stringify(payload)).toString('base64url')
    const secret = key ?? fs.readFileSync(path.join(home, 'secrets/signing.key'), 'utf8').trim()
    return `${body}.${createHmac('sha256', secret).update(body).digest('hex')}`
  }
  const in_an_hour = () => Math.floor(Date.now() / 1000) + 3600

  test('the hub accepts only tokens that it could have signed', async () => {
    const home = temporaryHome()
    keep(await startHub(home))
    const http = hubHttp(home)
    const good = { tenant_id: 'local', identity: 'ada', kind: 'agent', exp: in_an_hour() }
    const inbox = (token: string) => http.post('/api/signals/inbox', {}, token)
    await expect(inbox(tokenFor(home, good))).resolves.toBeDefined()
    for (const [token, code] of [
      ['', 'token_'],
      ['nonsense', 'token_invalid'],
      [tokenFor(home, good, 'another key'), 'token_invalid'],
      [tokenFor(home, { ...good, exp: 1 }), 'token_expired'],
      [tokenFor(home, { ...good, tenant_id: 'other' }), 'token_invalid'],
      [tokenFor(home, { ...good, kind: 'operator' }), 'token_invalid'],
    ] as const) {
      await expect(inbox(token), token).rejects.toThrow(code)
    }
  })

  test('the hub refuses a request for another host', async () => {
    const home = temporaryHome()
    const hub = keep(await startHub(home))
    const { port } = new URL(hub.url)
    const raw = (headers: string) =>
      new Promise<string>((resolve) => {
        let text = ''
        const client = net.connect(Number(port), '127.0.0.1', () =>
          client.write(`GET /health HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`),
        )
        client.on('data', (chunk) => (text += chunk.toString()))
        client.on('close', () => resolve(text))
      })
    expect(await raw(`Host: 127.0.0.1:${port}`)).toContain('200')
    expect(await raw('Host: evil.example')).toContain('origin_forbidden')
    expect(await raw(`Host: 127.0.0.1:${port}\r\nOrigin: https://evil.example`)).toContain('origin_forbidden')
  })

  test('the hub answers a body over the limit with 413 and invalid JSON with 400', async () => {
    const home = temporaryHome()
    const hub = keep(await startHub(home))
    const token = fs.readFileSync(path.join(home, 'secrets/operator.token'), 'utf8').trim()
    const post = (body: string) =>
      fetch(`${hub.url}/call`, {
        method: 'POST',
        body,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      })
    const large = await post(
      JSON.stringify({
        tool: 'signals',
        action: 'send',
        params: { payload: 'x'.repeat(LIMITS.body_bytes_max) },
      }),
    )
    expect(large.status).toBe(413)
    expect(large.headers.get('content-type')).toContain('application/problem+json')
    expect(await post('{"tool":').then((response) => response.status)).toBe(400)
  })

  test('the hub closes WebSocket clients with an invalid hello', async () => {
    const home = temporaryHome()
    const hub = keep(await startHub(home))
    const token = fs.readFileSync(path.join(home, 'secrets/operator.token'), 'utf8').trim()
    const closeCode = (first: string | Buffer) =>
      new Promise<number>((resolve, reject) => {
        const client = new WebSocket(`${hub.url.replace('http', 'ws')}/ws?token=${token}`)
        client.on('open', () => client.send(first))
        client.on('close', resolve)
        client.on('error', reject)
      })
    const hello = { type: 'hello', protocol: 1, kind: 'agent', identity: 'ada' }
    expect(await closeCode(JSON.stringify({ type: 'ping' }))).toBe(4401)
    expect(await closeCode(JSON.stringify({ ...hello, token: 'forged' }))).toBe(4401)
    expect(await closeCode(Buffer.alloc(LIMITS.frame_bytes_max + 1, 'x'))).toBe(1009)
    expect((await fetch(`${hub.url}/ready`)).status).toBe(200)
  })
})
