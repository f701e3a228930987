/** Many daemon links in one process: they send the hello, heartbeat like daemons, and read their frames. */
import WebSocket from 'ws'
import { PROTOCOL_VERSION } from '../../src/contracts/frames.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { DaemonErrorClass, type MetricsSet } from '../../src/contracts/metrics.ts'
import type { SurfaceFacts } from '../../src/contracts/registry.ts'
import { micros } from '../report/figures.ts'
import { serve } from '../remote.ts'

export interface LinkConnect {
  /** http://host:port of the hub. */
  url: string
  /** The operator's token, which may represent all of them; a bare server ignores it. */
  token: string
  identities: string[]
}

/** Round-trip time of a pending list, and the cost of its JSON alone. */
export interface Peeked {
  peek_us: number
  json_us: number
  bytes: number
  signals: number
  total: number
}

export type LinkHandlers = {
  /** Resolves when all of them have received `welcome`. */
  connect(params: LinkConnect): Promise<{ group: number }>
  close(params: { group: number }): Promise<void>
  /** The first link of the group peeks `times` times, one after another. */
  peek(params: { group: number; times: number }): Promise<Peeked[]>
}

/** Maximum number of concurrent hellos: a hub rejects more unauthenticated links. */
const HELLOS_UNDERWAY = 100

const groups: { sockets: WebSocket[]; timer: NodeJS.Timeout | undefined }[] = []

async function join(url: string, token: string, identity: string): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
  })
  await new Promise<void>((resolve, reject) => {
    // The second response is that to the ping: everything before was processed.
    const answered = () => resolve()
    socket.once('error', reject)
    socket.once('open', () => {
      socket.send(
        JSON.stringify({
          type: 'hello',
          protocol: PROTOCOL_VERSION,
          kind: 'daemon',
          identity,
          surface: 'mcp',
        }),
      )
    })
    socket.once('message', (data: Buffer) => {
      const text = data.toString('utf8')
      if (!text.includes('"type":"welcome"')) reject(new Error(`${identity} is not welcome: ${text}`))
      socket.once('message', answered)
      beat(socket, 1)
    })
  })
  return socket
}

/** Sends a heartbeat with the same fields as a daemon. */
function beat(socket: WebSocket, seq: number): void {
  socket.send(`{"type":"heartbeat","seq":${seq},"surface":${FACTS},"metrics":${METRICS}}`)
  socket.send('{"type":"ping"}')
}

const FACTS = JSON.stringify({
  attached: false,
  session_id: null,
  turn: 'unknown',
  turn_seq: 0,
} satisfies SurfaceFacts)
const METRICS = JSON.stringify({
  up: 1,
  heartbeat_age_seconds: 10.012,
  drain_age_seconds: null,
  signal_queue_depth: 0,
  errors_total: Object.fromEntries(DaemonErrorClass.options.map((name) => [name, 0])),
  last_error_timestamp_seconds: {},
} satisfies MetricsSet)

/** Spread over the interval, like those of daemons started at different times. */
function heartbeats(sockets: readonly WebSocket[]): NodeJS.Timeout | undefined {
  if (sockets.length === 0) return undefined
  let next = 0
  let seq = 1
  const due_a_tick = Math.max(1, Math.ceil((sockets.length * TICK_MS) / LIMITS.heartbeat_interval_ms))
  const tick = Math.max(TICK_MS, (LIMITS.heartbeat_interval_ms * due_a_tick) / sockets.length)
  return setInterval(() => {
    for (let count = 0; count < due_a_tick; count += 1) {
      if (next === 0) seq += 1
      const socket = sockets[next]
      if (socket !== undefined) beat(socket, seq)
      next = (next + 1) % sockets.length
    }
  }, tick)
}
const TICK_MS = 50

serve({
  async connect({ url, token, identities }) {
    const sockets: WebSocket[] = []
    const waiting = identities.values()
    await Promise.all(
      Array.from({ length: HELLOS_UNDERWAY }, async () => {
        for (const identity of waiting) sockets.push(await join(url, token, identity))
      }),
    )
    return { group: groups.push({ sockets, timer: heartbeats(sockets) }) - 1 }
  },

  async close({ group }) {
    const { sockets = [], timer } = groups[group] ?? {}
    clearInterval(timer)
    await Promise.all(
      sockets.map(
        (socket) =>
          new Promise((resolve) => {
            socket.once('close', resolve)
            socket.close()
          }),
      ),
    )
  },

  async peek({ group, times }) {
    const [socket] = groups[group]?.sockets ?? []
    if (!socket) throw new Error('an empty group')
    const peeked: Peeked[] = []
    while (peeked.length < times) peeked.push(await peekOnce(socket, peeked.length))
    return peeked
  },
} satisfies LinkHandlers)

async function peekOnce(socket: WebSocket, id: number): Promise<Peeked> {
  const started = micros()
  const text = await new Promise<string>((resolve) => {
    const onMessage = (data: Buffer) => {
      const answer = data.toString('utf8')
      if (!answer.startsWith('{"type":"pending"')) return
      socket.off('message', onMessage)
      resolve(answer)
    }
    socket.on('message', onMessage)
    socket.send(`{"type":"pending.peek","id":${id},"limit":${LIMITS.peek_limit_max}}`)
  })
  const { signals, total } = JSON.parse(text) as { signals: unknown[]; total: number }
  const peek_us = micros() - started
  return {
    ...{ peek_us, json_us: jsonMicros(text), bytes: Buffer.byteLength(text) },
    ...{ signals: signals.length, total },
  }
}

/** Returns the time to serialise and parse this text again. */
function jsonMicros(text: string): number {
  const value: unknown = JSON.parse(text)
  const started = micros()
  JSON.parse(JSON.stringify(value))
  return micros() - started
}
