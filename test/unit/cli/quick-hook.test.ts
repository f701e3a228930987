import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { hasUsualHub, quickHook, tellHub, Unanswered } from '../../../src/cli/hooks/quick-hook.ts'
import { resolveHome } from '../../../src/system/home.ts'

const closers: (() => unknown)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

function homeOf(files: { config?: string; pid?: object } = {}) {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tb-hook-'))
  closers.push(() => fs.rmSync(root, { recursive: true }))
  const home = resolveHome({}, root)
  fs.mkdirSync(home.hub_dir)
  if (files.config !== undefined) fs.writeFileSync(home.config, files.config)
  if (files.pid !== undefined) fs.writeFileSync(home.hub_pid, JSON.stringify(files.pid))
  fs.mkdirSync(path.dirname(home.operator_token))
  fs.writeFileSync(home.operator_token, 'tbop_secret\n', { mode: 0o600 })
  return home
}

describe('what goes the quick way', () => {
  test('a usual hook, for whom its client was started', () => {
    expect(quickHook(['PostToolUse'], { TURNBELL_PERSONA: 'ada' })).toEqual({
      event: 'PostToolUse',
      client: 'claude-code',
      identity: 'ada',
      home: undefined,
    })
    const named = ['Stop', '--client', 'opencode', '--persona', 'bob', '--home', '/tmp/x']
    expect(quickHook(named, { TURNBELL_PERSONA: 'ada' })).toEqual({
      event: 'Stop',
      client: 'opencode',
      identity: 'bob',
      home: '/tmp/x',
    })
  })

  test("the hook of a persona's own app-server, whose shim needs no report of it", () => {
    const own = ['SessionStart', '--client', 'codex', '--persona', 'ada', '--home', '/h', '--own-server']
    expect(quickHook(own, {})).toMatchObject({ event: 'SessionStart', client: 'codex', identity: 'ada' })
  })

  test('nobody to tell for is no reason to go the long way', () => {
    expect(quickHook(['Stop'], {})?.identity).toBeNull()
  })

  test.each([
    { argv: ['statusline'] },
    { argv: ['post-commit'] },
    { argv: ['SubagentStop'] },
    { argv: ['PreCompact'] },
    { argv: ['Stop', '--client', 'codex'] },
    { argv: [] },
    { argv: ['Stop', 'Stop'] },
    { argv: ['Stop', '--unknown'] },
    { argv: ['Stop', '--json'] },
    { argv: ['Stop', '--persona'] },
    { argv: ['Stop', '--home', ''] },
  ])('$argv goes the long way', ({ argv }) => {
    expect(quickHook(argv, { TURNBELL_PERSONA: 'ada' })).toBeNull()
  })

  test('a hub that is named somewhere else is found the long way', () => {
    expect(quickHook(['Stop'], { TURNBELL_HUB_URL: 'http://127.0.0.1:1' })).toBeNull()
    expect(hasUsualHub(homeOf())).toBe(true)
    expect(hasUsualHub(homeOf({ config: 'hub:\n  port: 4888\n' }))).toBe(true)
    expect(hasUsualHub(homeOf({ config: 'hub:\n  url: http://127.0.0.1:1\n' }))).toBe(false)
    expect(hasUsualHub(homeOf({ pid: { pid: process.pid, url: 'https://127.0.0.1:1' } }))).toBe(false)
  })
})

describe('telling the hub', () => {
  const hook = { event: 'Stop', client: 'claude-code', identity: 'ada', home: undefined }

  /** In the place of an answer: the connection is closed. */
  const CUT = 'cut'

  /** Answers each request with the next of these, and keeps what it was asked. */
  async function hubThatSays(answers: readonly { status?: number; text: string; plain?: boolean }[]) {
    const asked: { url: string | undefined; authorization: string | undefined; body: unknown }[] = []
    const server = http.createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { status = 200, text, plain = true } = answers[asked.length] ?? { text: '{}' }
        const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
        asked.push({ url: request.url, authorization: request.headers.authorization, body })
        if (text === CUT) {
          request.socket.destroy()
          return
        }
        if (plain) response.writeHead(status, { 'content-length': Buffer.byteLength(text) })
        else response.writeHead(status)
        // In two pieces, as a network may bring it.
        response.write(text.slice(0, 1))
        setImmediate(() => response.end(text.slice(1)))
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    closers.push(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    return { asked, home: homeOf({ pid: { pid: process.pid, url: `http://127.0.0.1:${port}` } }) }
  }

  test('takes a token of the persona, and answers what the hub says', async () => {
    const { asked, home } = await hubThatSays([{ text: '{"token":"t1"}' }, { text: '{"decision":"ü"}' }])
    expect(await tellHub(hook, home, { session_id: 's' })).toEqual({ decision: 'ü' })
    expect(asked).toEqual([
      {
        url: '/auth/token',
        authorization: 'Bearer tbop_secret',
        body: { identity: 'ada', kind: 'agent' },
      },
      {
        url: '/hook/claude-code',
        authorization: 'Bearer t1',
        body: { session_id: 's', hook_event_name: 'Stop' },
      },
    ])
  })

  test.each([
    ['refuses', [{ status: 503, text: '{}' }]],
    ['refuses the second request', [{ text: '{"token":"t1"}' }, { status: 400, text: '{}' }]],
    ['is none', [{ text: 'hello' }]],
    ['answers without a length', [{ text: '{"token":"t1"}', plain: false }]],
  ])('rejects where what answers there %s', async (_, answers) => {
    const { home } = await hubThatSays(answers)
    await expect(tellHub(hook, home, {})).rejects.not.toBeInstanceOf(Unanswered)
  })

  test('tells it apart where the connection ends: the hub may have heard', async () => {
    const { home } = await hubThatSays([{ text: '{"token":"t1"}' }, { text: CUT }])
    await expect(tellHub(hook, home, {})).rejects.toBeInstanceOf(Unanswered)
  })

  test('rejects where no hub runs, or only a file of one is left', async () => {
    await expect(tellHub(hook, homeOf(), {})).rejects.toThrow()
    const left = homeOf({ pid: { pid: 2 ** 22 + 1, url: 'http://127.0.0.1:1' } })
    await expect(tellHub(hook, left, {})).rejects.toThrow('no hub runs')
    const reused = { pid: process.pid, started: 'another boot:1', url: 'http://127.0.0.1:1' }
    await expect(tellHub(hook, homeOf({ pid: reused }), {})).rejects.toThrow('no hub runs')
    const closed = homeOf({ pid: { pid: process.pid, url: 'http://127.0.0.1:1' } })
    await expect(tellHub(hook, closed, {})).rejects.toThrow()
  })
})
