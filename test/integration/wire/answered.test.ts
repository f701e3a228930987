/**
 * Tests whether a drain's response was sent completely, which determines the state of its lease. Clients close real
 * sockets during the response.
 */
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAction, defineFacade } from '../../../src/kernel/define.ts'
import { DrainInput, DrainResult, SendInput } from '../../../src/contracts/signal.ts'
import { RECEIVED, type SentAnswer } from '../../../src/ports/sent-answer.ts'
import { eventually } from '../../support/eventually.ts'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'

let hub: SmallHub
let fates: Promise<'written' | 'broken'>[]
let gate: { entered: Promise<void>; open: () => void }

const watch = (answer: SentAnswer) => void fates.push(answer.written())

/** Returns an action whose response has the requested number of bytes, sent when the gate opens. */
const probe = () => {
  let enter: () => void
  let open: () => void
  const entered = new Promise<void>((resolve) => (enter = resolve))
  const opened = new Promise<void>((resolve) => (open = resolve))
  gate = { entered, open: () => open() }
  return defineFacade({
    name: 'probe',
    summary: 'Answers.',
    compact: 'Answers.',
    facet: 'core',
    actions: {
      answer: defineAction({
        summary: 'Answers.',
        mutates: true,
        input: z.strictObject({ bytes: z.number().int().default(10), gated: z.boolean().default(false) }),
        output: z.object({ text: z.string() }),
        errors: [],
        allow: ['agent'],
        handle: async ({ bytes, gated }, { answer }) => {
          watch(answer)
          enter()
          if (gated) await opened
          return { text: 'x'.repeat(bytes) }
        },
      }),
      drain: defineAction({
        summary: 'Drains, and holds the answer back.',
        mutates: true,
        input: DrainInput,
        output: DrainResult,
        errors: [],
        allow: ['agent'],
        handle: async (input, { modules: { signals }, caller, answer }) => {
          watch(answer)
          const drained = await signals.drain(caller, input, answer)
          enter()
          await opened
          return drained
        },
      }),
    },
  })
}

beforeEach(async () => {
  fates = []
  hub = await startSmallHub({ facades: [probe()] })
})
afterEach(async () => {
  gate.open()
  await hub.close()
})

const MODERN = {
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': 'tools/call',
  'Mcp-Name': 'probe',
}
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
type Params = { bytes?: number; gated?: boolean }
type Door = [name: string, path: string, headers: Record<string, string>, body: (params: Params) => unknown]
const DOORS: Door[] = [
  ['/api', '/api/probe/answer', {}, (params) => params],
  ['/call', '/call', {}, (params) => ({ tool: 'probe', action: 'answer', params })],
  ['/batch', '/batch', {}, (params) => ({ calls: [{ facade: 'probe', action: 'answer', params }] })],
  [
    '/mcp of the 2025 era',
    '/mcp',
    {},
    (params) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'probe', arguments: { action: 'answer', params } },
    }),
  ],
  [
    '/mcp of 2026-07-28',
    '/mcp',
    MODERN,
    (params) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'probe', arguments: { action: 'answer', params }, _meta: ENVELOPE },
    }),
  ],
  [
    '/mcp of 2026-07-28 through the SDK’s entry',
    '/mcp',
    // An encoded name is not handled by the fast path; the SDK finds the same tool.
    { ...MODERN, 'Mcp-Name': '=?base64?cHJvYmU=?=' },
    (params) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'probe', arguments: { action: 'answer', params }, _meta: ENVELOPE },
    }),
  ],
]

function send(path: string, headers: Record<string, string>, body: unknown): Promise<Socket> {
  const text = JSON.stringify(body)
  const lines = {
    Host: `127.0.0.1:${hub.port}`,
    Authorization: `Bearer ${hub.token('ada')}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Content-Length': String(Buffer.byteLength(text)),
    ...headers,
  }
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`)
  return new Promise((resolve) => {
    const socket = connect(hub.port, '127.0.0.1', () => {
      socket.write(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n${text}`)
      resolve(socket)
    })
    socket.on('error', () => {})
  })
}

describe.each(DOORS)('over %s', (_, path, headers, body) => {
  test('an answer that was read counts as written', async () => {
    const socket = await send(path, headers, body({}))
    const text = await new Promise<string>((resolve) =>
      socket.once('data', (chunk) => resolve(chunk.toString())),
    )
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
    expect(text).toContain('xxxxxxxxxx')
    expect(await fates[0]).toBe('written')
    socket.destroy()
  })

  test('a caller that disconnects while the action runs breaks the answer', async () => {
    const socket = await send(path, headers, body({ gated: true }))
    await gate.entered
    socket.destroy()
    expect(await fates[0]).toBe('broken')
    gate.open()
  })

  test('a caller that disconnects before it has read everything breaks the answer', async () => {
    // Larger than the socket buffers of both sides, so the response cannot be complete when the client closes.
    const socket = await send(path, headers, body({ bytes: 16 * 1024 * 1024 }))
    await new Promise((resolve) => socket.once('data', resolve))
    socket.destroy()
    expect(await fates[0]).toBe('broken')
  })
})

describe('two pipelined requests', () => {
  const together = async (to: SmallHub) => {
    const body = (gated: boolean) => JSON.stringify({ gated })
    const one = (text: string) =>
      `POST /api/probe/answer HTTP/1.1\r\nHost: 127.0.0.1:${to.port}\r\nAuthorization: Bearer ${to.token('ada')}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
    const socket = connect(to.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.resume()
    socket.write(one(body(true)) + one(body(false)))
    await eventually('both have begun', () => fates.length === 2)
    return socket
  }

  test('the second of two pipelined requests waits for the first, and both are answered', async () => {
    const socket = await together(hub)
    gate.open()
    expect(await Promise.all(fates)).toEqual(['written', 'written'])
    socket.destroy()
  })

  test('two pipelined requests are broken by a disconnect, and neither delays a stop', async () => {
    const own = await startSmallHub({ facades: [probe()] })
    const socket = await together(own)
    socket.destroy()
    expect(await Promise.all(fates)).toEqual(['broken', 'broken'])
    await own.close()
  })
})

test('a drain with a broken answer releases its signals and counts as a delivery', async () => {
  await hub.personas.add({ identity: 'ada', surface: 'mcp' })
  const ada = { tenant_id: 'local', kind: 'agent', identity: 'ada' } as const
  const operator = { tenant_id: 'local', kind: 'operator', identity: 'operator' } as const
  for (const intent of ['one', 'two'])
    await hub.signals.send(operator, SendInput.parse({ to: 'ada', intent }))

  const socket = await send('/api/probe/drain', {}, {})
  await gate.entered
  expect(hub.store.pendingCount('ada')).toBe(0)
  socket.destroy()
  expect(await fates[0]).toBe('broken')
  await eventually('both wait again', () => hub.store.pendingCount('ada') === 2)
  gate.open()

  const again = await hub.signals.drain(ada, DrainInput.parse({}), RECEIVED)
  expect(again.signals.map(({ intent, deliveries }) => [intent, deliveries])).toEqual([
    ['one', 2],
    ['two', 2],
  ])
})
