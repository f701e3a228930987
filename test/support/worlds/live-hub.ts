/** A whole hub on a loopback port: in-memory stores, real sockets, and a clock that the test may move. */
import { once } from 'node:events'
import WebSocket from 'ws'
import type { HubFrame, HubFrameOf } from '../../../src/contracts/frames.ts'
import { FACADES } from '../../../src/facades/all.ts'
import type { DispatchLine } from '../../../src/kernel/dispatch.ts'
import { createHub, type Hub } from '../../../src/hub/hub.ts'
import { listen, type HubServer, type ListenSettings, type OwnHosts } from '../../../src/hub/server.ts'
import { createTokens } from '../../../src/hub/tokens.ts'
import type { Grants } from '../../../src/kernel/policy.ts'
import type { RoutineSettings } from '../../../src/modules/routines/service.ts'
import type { Facade } from '../../../src/kernel/define.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { EventLog } from '../../../src/ports/event-log.ts'
import type { Log } from '../../../src/ports/log.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import type { Spool } from '../../../src/ports/spool.ts'
import type { SignalStore } from '../../../src/ports/signal-store.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import { createMemorySignalStore } from '../../../src/storage/memory/signal-store.ts'
import { memoryActivity } from './memory-activity.ts'
import { memoryProjects } from './memory-projects.ts'
import { AS_WRITTEN } from '../fakes/fake-path-inspector.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { fakeClock, type FakeClock } from '../fakes/fake-clock.ts'
import { gitRunner } from './git-world.ts'
import { playedOutside, type PlayedOutside } from '../fakes/fake-outside.ts'

export const OPERATOR_TOKEN = 'tbop_test-operator'
export const TEST_SIGNING_KEY = 'test-signing-key'

export interface LiveHub {
  url: string
  hub: Hub
  server: HubServer
  clock: FakeClock
  stores: { signals: SignalStore; records: RecordStore; events: EventLog }
  /** Log messages with their level. */
  logged: { level: string; fields: object; message: string }[]
  lines: DispatchLine[]
  token(identity: string, kind?: 'agent' | 'daemon' | 'observer', session_id?: string): string
  /** Opens a socket that has not sent a frame yet. */
  dial(options?: { token?: string | null; query?: string; headers?: Record<string, string> }): Promise<Client>
  /** Opens a socket and completes the hello. */
  join(
    identity: string,
    kind: 'agent' | 'daemon' | 'observer',
    hello?: Record<string, unknown>,
  ): Promise<Client & { welcome: HubFrameOf<'welcome'> }>
  http(
    method: string,
    path: string,
    options?: { token?: string | null; headers?: Record<string, string> | undefined; body?: unknown },
  ): Promise<Response>
  /** Calls one action as the operator or with a token; throws the problem's code. */
  call<T = Record<string, unknown>>(
    facade: string,
    action: string,
    params?: object,
    token?: string,
  ): Promise<T>
  close(): Promise<void>
}

export interface Client {
  socket: WebSocket
  /** All received frames. */
  frames: HubFrame[]
  send(frame: object): void
  /** Waits for the first frame of this type that `next` has not returned before. */
  next<T extends HubFrame['type']>(type: T): Promise<HubFrameOf<T>>
  /** Sends a frame with an id and waits for its response. */
  ask<T extends HubFrame = HubFrame>(frame: { type: string } & Record<string, unknown>): Promise<T>
  /** Resolves when all earlier frames have been handled and answered. */
  settled(): Promise<void>
  /** Resolves with the close code. */
  closed: Promise<number>
}

export async function liveHub(
  options: {
    stores?: Partial<LiveHub['stores']>
    spy?: (store: SignalStore) => SignalStore
    facades?: readonly Facade[]
    grants?: Grants
    routines?: RoutineSettings
    outside?: PlayedOutside
    settings?: Partial<ListenSettings>
    clock?: FakeClock
    spool?: Spool
    /** Stores activity, in memory. */
    activity?: boolean
  } = {},
): Promise<LiveHub> {
  const clock = options.clock ?? fakeClock()
  const kept = options.stores?.signals ?? createMemorySignalStore(clock)
  const stores = {
    signals: options.spy?.(kept) ?? kept,
    records: options.stores?.records ?? createMemoryRecordStore(),
    events: options.stores?.events ?? createMemoryEventLog(clock),
  }
  const logged: LiveHub['logged'] = []
  const at = (level: string) => (fields: object, message: string) =>
    void logged.push({ level, fields, message })
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const lines: DispatchLine[] = []
  const own: OwnHosts = { list: [] }
  const hub = await createHub({
    openProject: memoryProjects(),
    places: AS_WRITTEN,
    ...{ tenant_id: 'local', version: '0.0.0-test', clock, log, stores },
    git: gitRunner,
    facades: options.facades ?? FACADES,
    ...(options.grants === undefined ? {} : { grants: options.grants }),
    ...(options.routines === undefined ? {} : { settings: options.routines }),
    ...(options.spool === undefined ? {} : { spool: options.spool }),
    ...(options.activity === true ? { activity: await memoryActivity(clock) } : {}),
    outside: options.outside ?? playedOutside(),
    ids: createIds(clock, systemRandom),
    secrets: { operator_token: OPERATOR_TOKEN, signing_key: TEST_SIGNING_KEY },
    line: (line) => lines.push(line),
    ownHosts: () => own.list,
  })
  const server = await listen(
    hub,
    { host: '127.0.0.1', port: 0, behind_proxy: false, ...options.settings },
    ...([own, '0.0.0-test', clock as Clock] as const),
  )
  const tokens = createTokens({
    ...{ signing_key: TEST_SIGNING_KEY, operator_token: OPERATOR_TOKEN, tenant_id: 'local', clock },
  })
  const open: Client[] = []

  const token: LiveHub['token'] = (identity, kind = 'agent', session_id) =>
    tokens.sign({
      ...{ tenant_id: 'local', identity, kind, exp: Math.floor(clock.now() / 1000) + 3600 },
      ...(session_id === undefined ? {} : { session_id }),
    })

  const dial: LiveHub['dial'] = async ({ token: bearer = null, query = '', headers = {} } = {}) => {
    const socket = new WebSocket(`${server.url.replace(/^http/, 'ws')}/ws${query}`, {
      headers: { ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }), ...headers },
    })
    const client = clientOf(socket)
    open.push(client)
    await once(socket, 'open')
    return client
  }

  const http: LiveHub['http'] = (method, path, { token: bearer = OPERATOR_TOKEN, headers, body } = {}) =>
    fetch(server.url + path, {
      method,
      headers: {
        ...headers,
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })

  return {
    ...{ url: server.url, hub, server, clock, stores, logged, lines, token, dial, http },
    async join(identity, kind, hello = {}) {
      const client = await dial({ token: token(identity, kind) })
      client.send({ type: 'hello', protocol: 1, kind, identity, ...hello })
      const welcome = await client.next('welcome')
      return Object.assign(client, { welcome })
    },
    async call<T>(facade: string, action: string, params: object = {}, bearer = OPERATOR_TOKEN) {
      const response = await http('POST', `/api/${facade}/${action}`, { body: params, token: bearer })
      const answer = (await response.json()) as T & { code?: string; detail?: string }
      if (!response.ok) throw new Error(`${answer.code}: ${answer.detail}`)
      return answer
    },
    async close() {
      for (const { socket } of open) socket.terminate()
      await server.stop()
      await stores.signals.close()
    },
  }
}

function clientOf(socket: WebSocket): Client {
  const frames: HubFrame[] = []
  const untaken: HubFrame[] = []
  const waiters = new Set<() => void>()
  let ended = false
  let asked = 0
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as HubFrame
    frames.push(frame)
    untaken.push(frame)
    for (const wake of [...waiters]) wake()
  })
  socket.on('error', () => undefined)
  const closed = new Promise<number>((resolve) =>
    socket.on('close', (code) => {
      ended = true
      for (const wake of [...waiters]) wake()
      resolve(code)
    }),
  )
  const take = async (what: string, fits: (frame: HubFrame) => boolean): Promise<HubFrame> => {
    for (;;) {
      const at = untaken.findIndex(fits)
      if (at !== -1) return untaken.splice(at, 1)[0] as HubFrame
      if (ended) throw new Error(`the link closed before ${what} came; seen: ${JSON.stringify(frames)}`)
      await new Promise<void>((wake) => {
        const once = () => {
          waiters.delete(once)
          wake()
        }
        waiters.add(once)
      })
    }
  }
  const send = (frame: object) => socket.send(JSON.stringify(frame))
  return {
    socket,
    frames,
    send,
    closed,
    next: async <T extends HubFrame['type']>(type: T) =>
      (await take(type, (frame) => frame.type === type)) as HubFrameOf<T>,
    async ask<T extends HubFrame>(frame: { type: string } & Record<string, unknown>) {
      const id = `ask-${++asked}`
      send({ ...frame, id })
      return (await take(`the answer to ${frame.type}`, (one) => 'id' in one && one.id === id)) as T
    },
    async settled() {
      send({ type: 'ping' })
      await take('pong', (frame) => frame.type === 'pong')
    },
  }
}
