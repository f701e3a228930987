/**
 * A hub without WebSockets and without a disk: real modules over in-memory stores, the real kernel, and the real HTTP
 * and MCP transports on a real loopback port.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FACADES } from '../../../src/facades/all.ts'
import type { Outside } from '../../../src/hub/routines.ts'
import { createHub } from '../../../src/hub/hub.ts'
import { createTokens } from '../../../src/hub/tokens.ts'
import type { Facade } from '../../../src/kernel/define.ts'
import type { DispatchLine, Kernel } from '../../../src/kernel/dispatch.ts'
import type { Grants } from '../../../src/kernel/policy.ts'
import { projectMcp } from '../../../src/kernel/projections/project-mcp.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import type { Caller } from '../../../src/contracts/token.ts'
import type { CoordinatorModule } from '../../../src/modules/coordinator/types.ts'
import type { PersonaRegistry } from '../../../src/modules/registry/personas.ts'
import type { Records } from '../../../src/modules/records/service.ts'
import type { RoutineModule, RoutineSettings } from '../../../src/modules/routines/service.ts'
import type { SignalModule } from '../../../src/modules/signals/types.ts'
import type { EventLog } from '../../../src/ports/event-log.ts'
import type { Log } from '../../../src/ports/log.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import type { SignalStore } from '../../../src/ports/signal-store.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import { createMemorySignalStore } from '../../../src/storage/memory/signal-store.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import type { ModuleFactory } from '../../../src/modules/module-context.ts'
import type { HubApi } from '../../../src/transports/hub-api.ts'
import { memoryProjects } from './memory-projects.ts'
import { createHttpTransport } from '../../../src/transports/http/server.ts'
import type { McpExtend } from '../../../src/transports/mcp/extension.ts'
import { createMcpHttp } from '../../../src/transports/mcp/http.ts'
import { gitRunner } from './git-world.ts'
import { playedOutside } from '../fakes/fake-outside.ts'
import { AS_WRITTEN } from '../fakes/fake-path-inspector.ts'

export interface SmallHub {
  url: string
  port: number
  server: Server
  kernel: Kernel
  signals: SignalModule
  personas: PersonaRegistry
  records: Records
  /** Records of the hub itself. */
  home: RecordStore
  coordinator: CoordinatorModule
  routines: RoutineModule
  store: SignalStore
  events: EventLog
  /** Lines for logs/dispatch.jsonl. */
  lines: DispatchLine[]
  /** Log messages with their level. */
  logged: { level: string; fields: object; message: string }[]
  /** Set this to simulate a hub that is not ready. */
  readiness: { ready: boolean; reason: string | null }
  operator: string
  token(identity: string, kind?: 'agent' | 'daemon' | 'observer', session_id?: string): string
  expiredToken(identity: string): string
  /** Sends one request with a JSON body as the operator, or with another token (null for none). */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
  close(): Promise<void>
}

export interface RequestOptions {
  token?: string | null
  body?: unknown
  headers?: Record<string, string>
}

export interface Answer {
  status: number
  type: string
  headers: Headers
  /** Null if the response is not JSON. */
  body: Record<string, Json>
  text: string
}

const OPERATOR = 'operator-secret'

export interface SmallHubOptions {
  facades?: readonly Facade[]
  grants?: Grants
  extend?: McpExtend
  outside?: Outside
  settings?: RoutineSettings
  /** Modules in addition to the product's. */
  modules?: Readonly<Record<string, ModuleFactory>>
}

export async function startSmallHub(options: SmallHubOptions = {}): Promise<SmallHub> {
  const clock = systemClock
  const ids = createIds(clock, systemRandom)
  const logged: SmallHub['logged'] = []
  const at = (level: string) => (fields: object, message: string) =>
    void logged.push({ level, fields, message })
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }

  const store = createMemorySignalStore(clock)
  const events = createMemoryEventLog(clock)
  const home = createMemoryRecordStore()
  const lines: DispatchLine[] = []
  const server = createServer()
  const port = await listening(server)
  const hub = await createHub({
    tenant_id: 'local',
    version: '0.0.0',
    secrets: { signing_key: 'k', operator_token: OPERATOR },
    stores: { signals: store, records: home, events },
    openProject: memoryProjects(),
    places: AS_WRITTEN,
    git: gitRunner,
    facades: options.facades ?? FACADES,
    ...(options.grants === undefined ? {} : { grants: options.grants }),
    ...(options.modules === undefined ? {} : { modules: options.modules }),
    ...(options.settings === undefined ? {} : { settings: options.settings }),
    outside: options.outside ?? playedOutside(),
    clock,
    ids,
    log,
    line: (line) => lines.push(line),
    ownHosts: () => [`127.0.0.1:${port}`, `localhost:${port}`],
  })
  await hub.start()
  const { kernel, modules } = hub
  const { signals, personas, routines, records, coordinator } = modules
  const tokens = createTokens({ signing_key: 'k', operator_token: OPERATOR, tenant_id: 'local', clock })
  const readiness: SmallHub['readiness'] = { ready: true, reason: null }
  const api: HubApi = { ...hub.api, readiness: () => readiness }
  const projection = projectMcp(kernel)
  const mcp = await createMcpHttp({ kernel, projection, api, version: '0.0.0', extend: options.extend })
  const http = createHttpTransport({ kernel, api, version: '0.0.0', raw: [mcp] })
  await http.start(server)

  const url = `http://127.0.0.1:${port}`
  const sign = (caller: Omit<Caller, 'tenant_id'>, exp: number) =>
    tokens.sign({ tenant_id: 'local', ...caller, exp } as Parameters<typeof tokens.sign>[0])
  return {
    url,
    port,
    server,
    kernel,
    signals,
    personas,
    records,
    home,
    coordinator,
    routines,
    store,
    events,
    lines,
    logged,
    readiness,
    operator: OPERATOR,
    token: (identity, kind = 'agent', session_id) =>
      sign(
        { identity, kind, ...(session_id === undefined ? {} : { session_id }) },
        Math.floor(clock.now() / 1000) + 3600,
      ),
    expiredToken: (identity) => sign({ identity, kind: 'agent' }, 1),
    request: (method, path, request = {}) => ask(url, OPERATOR, method, path, request),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      await http.stop()
      server.closeAllConnections()
      await closed
      hub.stopping()
      await hub.close()
      await events.close()
      await store.close()
    },
  }
}

async function ask(
  url: string,
  operator: string,
  method: string,
  path: string,
  { token = operator, body, headers = {} }: RequestOptions,
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const type = response.headers.get('content-type') ?? ''
  const parsed = (type.includes('json') ? JSON.parse(text) : null) as Answer['body']
  return { status: response.status, type, headers: response.headers, body: parsed, text }
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

/** Returns the problem's code of a rejected call; fails if it succeeds. */
export async function refusedWith(call: () => unknown): Promise<string> {
  try {
    await call()
  } catch (error) {
    if (error instanceof TurnbellError) return error.code
    throw error
  }
  throw new Error('it was not refused')
}

/** Sends a signal to ada; returns its `signal_id`. */
export async function send(hub: SmallHub, payload: string): Promise<string> {
  const { body } = await hub.request('POST', '/api/signals/send', {
    body: { to: 'ada', intent: 'test', payload },
  })
  return (body as unknown as { signal_id: string }).signal_id
}
