/** The attacks, each on its own connections. A valid token may send every request used here. */
import http from 'node:http'
import net from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import WebSocket from 'ws'

export interface Target {
  url: string
  identity: string
  token: string
}

export interface Attack {
  name: string
  /** Ends when `over` is aborted, or earlier; the next attack then follows. May reject. */
  strike(target: Target, over: AbortSignal): Promise<void>
}

const INBOX = { facade: 'signals', action: 'inbox', params: { limit: 1_000 } }
const BODY_BYTES = 1024 * 1024
const STREAMS = 300
const STRANGERS = 1_100
const SLOW_BODIES = 200
const PIPELINED = 260
const PIPELINES = 20

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

const workflowOf = (calls: readonly object[]) => ({ facade: 'workflow', action: 'batch', params: { calls } })

/** Posts as fast as possible on one connection and discards the responses. */
async function repeat(
  target: Target,
  over: AbortSignal,
  path: string,
  bodies: readonly unknown[],
  headers: Record<string, string> = {},
): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  try {
    for (let at = 0; !over.aborted; at += 1) {
      const body = bodies[at % bodies.length]
      await post(target, over, {
        path,
        agent,
        headers,
        text: typeof body === 'string' ? body : JSON.stringify(body),
      })
    }
  } finally {
    agent.destroy()
  }
}

function post(
  { url, token }: Target,
  signal: AbortSignal,
  {
    path,
    agent,
    headers,
    text,
  }: { path: string; agent: http.Agent; headers: Record<string, string>; text: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${url}${path}`, {
      method: 'POST',
      agent,
      signal,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        ...headers,
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      response.on('error', reject)
      response.on('end', resolve)
      response.resume()
    })
    request.end(text)
  })
}

const MCP = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-03-26' }
const toolCall = (name: string, args: object, id = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

/** Opens connections that send data and read nothing, until `over`. */
async function hold(
  { url }: Target,
  over: AbortSignal,
  count: number,
  bytes: string | Buffer,
  trickle?: string,
): Promise<void> {
  const { hostname, port } = new URL(url)
  const sockets = times(count, () => {
    const socket = net.connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.pause()
    socket.write(bytes)
    return socket
  })
  const more = setInterval(() => {
    if (trickle !== undefined) for (const socket of sockets) if (socket.writable) socket.write(trickle)
  }, 200)
  await ended(over)
  clearInterval(more)
  for (const socket of sockets) socket.destroy()
}

function ended(over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (over.aborted) resolve()
    else over.addEventListener('abort', () => resolve(), { once: true })
  })
}

function requestText({ url, token }: Target, line: string, more = ''): string {
  return `${line} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`
}

/** Returns a link after its hello. */
async function linkOf({ url, token, identity }: Target): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, {
    headers: { authorization: `Bearer ${token}` },
  })
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('open', resolve).once('close', resolve))
  socket.send(JSON.stringify({ type: 'hello', protocol: 1, kind: 'agent', identity, channels: ['global'] }))
  return socket
}

/** Sends frames without a pause; with `deaf` reads nothing. */
async function frames(
  target: Target,
  over: AbortSignal,
  deaf: boolean,
  frame: (at: number) => object,
): Promise<void> {
  const socket = await linkOf(target)
  if (deaf) socket.pause()
  for (let at = 0; !over.aborted && socket.readyState === WebSocket.OPEN; at += 1) {
    socket.send(JSON.stringify(frame(at)))
    if (at % 100 === 99) await pause(1)
  }
  socket.terminate()
}

const words = times(60, (index) => `word${index}`).join(' ')
const SEARCHES = [
  { tool: 'tool', action: 'search', params: { query: words.slice(0, 400), limit: 50 } },
  { tool: 'workflow', action: 'investigate', params: { query: words.slice(0, 200) } },
  { tool: 'blackboard', action: 'query', params: { query: words.slice(0, 400), limit: 50 } },
  { tool: 'store', action: 'query', params: { kind: 'task', limit: 500 } },
  { tool: 'context', action: 'assemble', params: { task: words, max_tokens: 16_000 } },
  { tool: 'coordinator', action: 'history', params: { limit: 500 } },
  { tool: 'coordinator', action: 'status', params: { limit: 1_000 } },
  { tool: 'personas', action: 'list', params: {} },
]

const LARGE = [
  `{"tool":"signals","action":"ack","params":{"signal_ids":[${'{},'.repeat(BODY_BYTES / 3 - 100)}{}]}}`,
  `{"calls":[${'1,'.repeat(BODY_BYTES / 2 - 100)}1]}`,
  `{"tool":"signals","action":"send","params":{"to":"x","intent":"i","payload":[${'[],'.repeat(BODY_BYTES / 3 - 100)}[]]}}`,
  `{"tool":"signals","action":"inbox","params":{${times(60_000, (index) => `"k${index}":1`).join(',')}}}`,
]

export const ATTACKS: readonly Attack[] = [
  {
    name: 'nested batches',
    strike: (target, over) =>
      repeat(target, over, '/batch', [{ calls: times(100, () => workflowOf(times(100, () => INBOX))) }]),
  },
  {
    name: 'batches in tool_invoke in a batch of MCP',
    strike: (target, over) =>
      repeat(
        target,
        over,
        '/mcp',
        [
          times(100, (id) =>
            toolCall('tool_invoke', { name: 'workflow_batch', args: { calls: times(30, () => INBOX) } }, id),
          ),
        ],
        MCP,
      ),
  },
  {
    name: 'inbox',
    strike: (target, over) =>
      repeat(target, over, '/call', [{ tool: 'signals', action: 'inbox', params: { limit: 1_000 } }]),
  },
  {
    name: 'pipelined requests, answers not read',
    strike: (target, over) =>
      hold(
        target,
        over,
        PIPELINES,
        requestText(target, 'GET /api/signals/inbox?limit=1000').repeat(PIPELINED),
      ),
  },
  {
    name: 'pipelined pages of events',
    strike: (target, over) =>
      hold(target, over, PIPELINES, requestText(target, 'GET /events?since=0').repeat(PIPELINED)),
  },
  {
    name: 'streams of events, not read',
    strike: (target, over) =>
      hold(
        target,
        over,
        STREAMS,
        requestText(target, 'GET /events?since=0', 'Accept: text/event-stream\r\n'),
      ),
  },
  {
    name: 'MCP sessions and streams',
    async strike(target, over) {
      const stream = (id: number) =>
        requestText(target, 'GET /mcp', `Accept: text/event-stream\r\nMcp-Session-Id: hostile-${id}\r\n`)
      const { hostname, port } = new URL(target.url)
      const sockets = times(STREAMS, (id) => {
        const socket = net.connect(Number(port), hostname)
        socket.on('error', () => undefined)
        socket.write(stream(id))
        return socket
      })
      await repeat(
        target,
        over,
        '/mcp',
        [
          {
            jsonrpc: '2.0',
            id: 1,
            method: 'initialize',
            params: {
              protocolVersion: '2025-06-18',
              capabilities: {},
              clientInfo: { name: 'h', version: '1' },
            },
          },
        ],
        { accept: MCP.accept },
      ).catch(() => undefined)
      for (const socket of sockets) socket.destroy()
    },
  },
  {
    name: 'WebSockets without a token',
    async strike({ url }, over) {
      const sockets = times(STRANGERS, () => {
        const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`)
        socket.on('error', () => undefined)
        return socket
      })
      await ended(over)
      for (const socket of sockets) socket.terminate()
    },
  },
  {
    name: 'WebSockets with a token',
    async strike(target, over) {
      const links = await Promise.all(times(STREAMS, () => linkOf(target)))
      await ended(over)
      for (const link of links) link.terminate()
    },
  },
  {
    name: 'calls in frames, answers not read',
    strike: (target, over) =>
      frames(target, over, true, (id) => ({ type: 'call', id, ...INBOX, params: { limit: 200 } })),
  },
  {
    name: 'published events',
    strike: (target, over) =>
      frames(target, over, false, (id) => ({
        type: 'publish',
        id,
        channel: 'global',
        event: 'task.done',
        data: { text: 'x'.repeat(60_000) },
      })),
  },
  {
    name: 'renewals',
    strike: (target, over) =>
      repeat(target, over, '/auth/token', [{ identity: target.identity, kind: 'agent' }]),
  },
  {
    name: 'slow bodies',
    strike: (target, over) =>
      hold(
        target,
        over,
        SLOW_BODIES,
        Buffer.concat([
          Buffer.from(
            requestText(
              target,
              'POST /call',
              `Content-Type: application/json\r\nContent-Length: ${BODY_BYTES}\r\n`,
            ),
          ),
          Buffer.alloc(BODY_BYTES - 10_000, 'x'),
        ]),
        'x',
      ),
  },
  { name: 'large bodies', strike: (target, over) => repeat(target, over, '/call', LARGE) },
  {
    name: 'searches',
    strike: (target, over) =>
      repeat(target, over, '/batch', [
        {
          calls: times(100, (at) => {
            const { tool, action, params } = SEARCHES[at % SEARCHES.length] as (typeof SEARCHES)[number]
            return { facade: tool, action, params }
          }),
        },
      ]),
  },
  {
    name: 'log entries',
    strike: (target, over) =>
      repeat(target, over, '/batch', [
        {
          calls: times(100, () => ({
            facade: 'coordinator',
            action: 'log',
            params: { message: 'é'.repeat(2_000), data: { text: 'é'.repeat(2_000) } },
          })),
        },
      ]),
  },
  {
    name: 'sends and drains',
    strike: ({ identity, ...target }, over) =>
      repeat({ identity, ...target }, over, '/call', [
        {
          tool: 'workflow',
          action: 'batch',
          params: {
            calls: times(100, () => ({
              facade: 'signals',
              action: 'send',
              params: { to: identity, intent: 'x', payload: 'x'.repeat(600) },
            })),
          },
        },
        { tool: 'signals', action: 'pending', params: { limit: 100 } },
      ]),
  },
]
