/**
 * The other callers: agents that send to each other, and an operator, a daemon and a new client that check whether they
 * are still served.
 */
import { setMaxListeners } from 'node:events'
import http from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import WebSocket from 'ws'

export interface TeamWorld {
  url: string
  operator_token: string
  names: readonly string[]
  tokens: ReadonlyMap<string, string>
  daemon_tokens: ReadonlyMap<string, string>
}

export interface Tally {
  send_ms: number[]
  health_ms: number[]
  sent: number
  /** Failures of other callers, by kind. */
  refused: Map<string, number>
}

const SEND_EVERY_MS = 100
const LOOK_EVERY_MS = 500
const PATIENCE_MS = 10_000

export function emptyTally(): Tally {
  return { send_ms: [], health_ms: [], sent: 0, refused: new Map() }
}

/** Runs until `over`; adds its measurements to `tally`. */
export async function work(world: TeamWorld, tally: Tally, over: AbortSignal): Promise<void> {
  // Every caller listens to this signal.
  setMaxListeners(0, over)
  const agents = world.names.map((name, at) => sender(world, name, at, tally, over))
  await Promise.all([...agents, newcomers(world, tally, over), persons(world, tally, over)])
}

async function sender(
  world: TeamWorld,
  name: string,
  at: number,
  tally: Tally,
  over: AbortSignal,
): Promise<void> {
  const { names, tokens } = world
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const token = tokens.get(name) as string
  const to = names[(at + 1) % names.length] as string
  await idle((at * SEND_EVERY_MS) / names.length, over)
  for (let turn = 0; !over.aborted; turn += 1) {
    const began = performance.now()
    const body = { to, intent: 'work', payload: `${turn}` }
    const sent = await tried(tally, 'send', () => ask(world.url, '/api/signals/send', { agent, token, body }))
    if (sent) {
      tally.send_ms.push(performance.now() - began)
      tally.sent += 1
    }
    if (turn % 20 === 19) {
      const drained = await tried(tally, 'drain', () =>
        ask(world.url, '/api/signals/pending', { agent, token, body: { limit: 100 } }),
      )
      const { signals = [] } = (drained ?? {}) as { signals?: { signal_id: string }[] }
      const signal_ids = signals.map(({ signal_id }) => signal_id)
      if (signal_ids.length > 0)
        await tried(tally, 'ack', () =>
          ask(world.url, '/api/signals/ack', { agent, token, body: { signal_ids } }),
        )
    }
    await idle(SEND_EVERY_MS, over)
  }
  agent.destroy()
}

/** Daemons that connect, agents that renew their tokens, readers of the event stream: each on a new connection. */
async function newcomers({ url, ...world }: TeamWorld, tally: Tally, over: AbortSignal): Promise<void> {
  for (let turn = 0; !over.aborted; turn += 1) {
    const name = world.names[turn % world.names.length] as string
    const token = world.daemon_tokens.get(name) as string
    await tried(tally, 'daemon', () => hello(url, name, token))
    await tried(tally, 'stream', () => stream(url, world.tokens.get(name) as string))
    await tried(tally, 'renewal', () =>
      ask(url, '/auth/token', { token, body: { identity: name, kind: 'daemon' } }),
    )
    await idle(LOOK_EVERY_MS, over)
  }
}

async function persons({ url, operator_token }: TeamWorld, tally: Tally, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const began = performance.now()
    if (await tried(tally, 'health', () => ask(url, '/health', {})))
      tally.health_ms.push(performance.now() - began)
    await tried(tally, 'operator', () => ask(url, '/api/personas/list', { token: operator_token, body: {} }))
    await tried(tally, 'operator stream', () => stream(url, operator_token))
    await idle(SEND_EVERY_MS, over)
  }
}

/** Returns null and counts a failure. */
async function tried<T>(tally: Tally, what: string, act: () => Promise<T>): Promise<T | null> {
  try {
    return await act()
  } catch (error) {
    const why = `${what}: ${error instanceof Error ? error.message : String(error)}`
    tally.refused.set(why, (tally.refused.get(why) ?? 0) + 1)
    return null
  }
}

async function idle(ms: number, over: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal: over }).catch(() => undefined)
}

interface Asking {
  agent?: http.Agent
  token?: string
  body?: object
}

function ask(url: string, path: string, { agent, token, body }: Asking): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      ...(agent === undefined ? { agent: false } : { agent }),
      signal: AbortSignal.timeout(PATIENCE_MS),
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('error', reject)
      response.on('end', () => {
        const answer = JSON.parse(text) as { code?: string }
        if (response.statusCode === 200) resolve(answer)
        else reject(new Error(answer.code ?? String(response.statusCode)))
      })
    })
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

function hello(url: string, identity: string, token: string): Promise<true> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, {
      handshakeTimeout: PATIENCE_MS,
      headers: { authorization: `Bearer ${token}` },
    })
    socket.on('error', reject)
    socket.on('close', (code) => reject(new Error(`closed with ${code}`)))
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'hello', protocol: 1, kind: 'daemon', identity })),
    )
    socket.on('message', () => {
      resolve(true)
      socket.terminate()
    })
  })
}

function stream(url: string, token: string): Promise<true> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${url}/events`, {
      agent: false,
      signal: AbortSignal.timeout(PATIENCE_MS),
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      response.resume()
      response.on('error', () => undefined)
      if (response.statusCode === 200) resolve(true)
      else reject(new Error(String(response.statusCode)))
      request.destroy()
    })
    request.end()
  })
}
