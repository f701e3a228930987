/**
 * A hub that is suspended (SIGSTOP) while agents drain, and agents that give up in the meantime. Their requests and the
 * ends of their connections have all arrived when it resumes.
 */
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { DrainResult, Receipt } from '../../../src/contracts/signal.ts'
import { hubHttp } from '../../support/worlds/hub-http.ts'
import { end, type Running, standStill, startHub } from '../../support/processes/processes.ts'

const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const MODERN =
  'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: signals_pending\r\n' +
  'Accept: application/json, text/event-stream\r\n'

/** The endpoints for a drain: path, headers, body. */
const WAYS: readonly (readonly [route: string, headers: string, body: object])[] = [
  ['/api/signals/pending', '', {}],
  ['/call', '', { tool: 'signals', action: 'pending', params: {} }],
  ['/mcp', MODERN, { ...CALL, params: { name: 'signals_pending', arguments: {}, _meta: ENVELOPE } }],
]

/** With an instant sync, the event loop has no extra tick in which it might notice a closed connection. */
const FAST_DISK = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir()

const PERSONAS = Array.from({ length: 20 }, (_, number) => `agent-${number}`)

let hub: Running | null = null
let home: string
afterEach(async () => {
  if (hub !== null) await end(hub, 'SIGTERM')
  fs.rmSync(home, { recursive: true, force: true })
})

test('a client that cancelled a drain during a stall drains the same signals again', async () => {
  home = fs.mkdtempSync(path.join(FAST_DISK, 'tb-'))
  hub = await startHub(home)
  const http = hubHttp(home)
  const port = Number(new URL(http.url()).port)
  const agents = await Promise.all(
    PERSONAS.map(async (identity) => {
      await http.post('/api/personas/add', { identity, surface: 'mcp' })
      const asked = { identity, kind: 'agent', session_id: `run-of-${identity}` }
      const { token } = await http.post<{ token: string }>('/auth/token', asked)
      const { signal_id } = await http.post<Receipt>('/api/signals/send', { to: identity, intent: 'note' })
      return { identity, token, signal_id }
    }),
  )

  const goOn = await standStill(hub)
  try {
    await Promise.all(agents.map(({ token }, number) => askAndGiveUp(port, token, number)))
  } finally {
    goOn()
  }

  for (const { identity, token, signal_id } of agents) {
    const drained: string[] = []
    // The next drain, and one more for signals that were still being released.
    for (let drain = 0; drain < 3 && drained.length === 0; drain += 1) {
      const { signals } = await http.post<DrainResult>('/api/signals/pending', {}, token)
      drained.push(...signals.map((signal) => signal.signal_id))
    }
    expect(drained, identity).toEqual([signal_id])
  }
})

/** Resolves when the operating system has both the request and the end of the connection. */
function askAndGiveUp(port: number, token: string, number: number): Promise<void> {
  const [route, headers, body] = WAYS[number % WAYS.length] ?? ['', '', {}]
  const text = JSON.stringify(body)
  const request =
    `POST ${route} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n${headers}` +
    `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(request, () => socket.destroy()))
    socket.on('error', reject)
    socket.on('close', () => resolve())
  })
}
