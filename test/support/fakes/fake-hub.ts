/**
 * A fake hub as a daemon sees it: tokens over HTTP, frames over a real WebSocket, a queue of metadata. It does not keep
 * a hub's guarantees; it only speaks the frames, and misbehaves on request.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer, type WebSocket } from 'ws'
import { ClientFrame, type HubFrame, type PendingEntry } from '../../../src/contracts/frames.ts'
import { countedId } from '../worlds/machine-world.ts'

export interface FakeHubOptions {
  heartbeat_interval_ms?: number
  expires_in?: number
  port?: number
}

export async function fakeHub(options: FakeHubOptions = {}) {
  const links = new Set<WebSocket>()
  let queue: PendingEntry[] = []
  let seq = 0
  let tokens = 0
  const hub = {
    url: '',
    /** All client frames, in order. */
    frames: [] as ClientFrame[],
    /** Contents of the token requests. */
    tokenRequests: [] as { bearer: string | undefined; body: unknown }[],
    /** Bearer tokens of the upgrade requests. */
    bearers: [] as (string | undefined)[],
    /** Status and body that `/auth/token` returns instead of a token. */
    tokenRefusal: null as { status: number; body: unknown } | null,
    /** Status that the upgrade returns instead of a link. */
    upgradeRefusal: null as number | null,
    answersPeeks: true,
    answersPings: true,
    welcomes: true,
    get links() {
      return [...links]
    },
    get queue() {
      return queue
    },
    framesOf: <T extends ClientFrame['type']>(type: T) =>
      hub.frames.filter((frame): frame is Extract<ClientFrame, { type: T }> => frame.type === type),
    send(frame: HubFrame) {
      hub.sendText(JSON.stringify(frame))
    },
    sendText(text: string | Buffer) {
      for (const link of links) link.send(text)
    },
    accept(priority = 3, from = 'bob'): PendingEntry {
      seq += 1
      const entry = { signal_id: countedId('S', seq), seq, from, intent: 'task', priority }
      queue = [...queue, entry].sort((a, b) => b.priority - a.priority || a.seq - b.seq)
      return entry
    },
    push(to = 'ada', priority = 3): PendingEntry {
      const entry = hub.accept(priority)
      hub.send({ type: 'signal.pushed', to, pending_count: queue.length, ...entry })
      return entry
    },
    drain(session_id = 'agent-1') {
      const signal_ids = queue.map(({ signal_id }) => signal_id)
      queue = []
      hub.send({ type: 'signal.drained', signal_ids, session_id, pending_count: 0 })
    },
    closeLinks(code = 1001, reason = 'going away') {
      for (const link of links) link.close(code, reason)
    },
    cutLinks() {
      for (const link of links) link.terminate()
    },
    async close() {
      for (const link of links) link.terminate()
      sockets.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }

  const server = http.createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      const body: unknown = text === '' ? null : JSON.parse(text)
      hub.tokenRequests.push({ bearer: request.headers.authorization, body })
      const { status, body: answer } = hub.tokenRefusal ?? {
        status: 200,
        body: { token: `token-${++tokens}`, expires_in: options.expires_in ?? 3_600 },
      }
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
    })
  })
  const sockets = new WebSocketServer({
    server,
    path: '/ws',
    perMessageDeflate: false,
    verifyClient: (_, decide) => decide(hub.upgradeRefusal === null, hub.upgradeRefusal ?? undefined),
  })
  sockets.on('connection', (link, request) => {
    hub.bearers.push(request.headers.authorization)
    links.add(link)
    link.on('close', () => links.delete(link))
    link.on('error', () => {})
    link.on('message', (data: Buffer) => onFrame(link, ClientFrame.parse(JSON.parse(data.toString('utf8')))))
  })

  function onFrame(link: WebSocket, frame: ClientFrame): void {
    hub.frames.push(frame)
    const say = (answer: HubFrame) => link.send(JSON.stringify(answer))
    if (frame.type === 'hello' && hub.welcomes) {
      const heartbeat_interval_ms = options.heartbeat_interval_ms ?? 10_000
      say({ type: 'welcome', client_id: 'c1', heartbeat_interval_ms, resume_seq: 0 })
    }
    if (frame.type === 'pending.peek' && hub.answersPeeks) {
      const signals = queue.slice(0, frame.limit ?? 1_000)
      say({ type: 'pending', id: frame.id, signals, total: queue.length, as_of_seq: seq })
    }
    if (frame.type === 'ping' && hub.answersPings) say({ type: 'pong' })
  }

  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  hub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return hub
}
