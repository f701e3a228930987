/**
 * A hub without its WebSocket and without a disk: real modules over memory stores, the real kernel, the
 * real HTTP and MCP doors on a real loopback port.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FACADES } from '../../src/facades/all.ts'
import { openMemory } from '../../src/hub/memory.ts'
import { openRoutines, type Outside } from '../../src/hub/routines.ts'
import { createSessionEnd } from '../../src/hub/session-end.ts'
import { createTokens } from '../../src/hub/tokens.ts'
import type { Facade } from '../../src/kernel/define.ts'
import { createKernel, type DispatchLine, type Kernel } from '../../src/kernel/dispatch.ts'
import type { Grants } from '../../src/kernel/policy.ts'
import { projectMcp } from '../../src/kernel/project-mcp.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import type { Json } from '../../src/contracts/ids.ts'
import type { Caller } from '../../src/contracts/token.ts'
import { recordedLinks } from '../../src/modules/git/recorded-links.ts'
import { createGit } from '../../src/modules/git/service.ts'
import { openCoordinator, type CoordinatorModule } from '../../src/modules/coordinator/service.ts'
import { openPersonaRegistry, type PersonaRegistry } from '../../src/modules/registry/personas.ts'
import { createRecords, type Records } from '../../src/modules/records/service.ts'
import { openProjects } from '../../src/modules/registry/projects.ts'
import { createRegistrations } from '../../src/modules/registry/registrations.ts'
import { createRouteResolver } from '../../src/modules/registry/route.ts'
import { repositoryRoot } from '../../src/modules/registry/scope.ts'
import { createRuns } from '../../src/modules/runs/service.ts'
import type { SignalEvents } from '../../src/modules/signals/events.ts'
import type { RoutineModule, RoutineSettings } from '../../src/modules/routines/service.ts'
import { createSignals, type SignalModule } from '../../src/modules/signals/service.ts'
import type { EventLog } from '../../src/ports/event-log.ts'
import type { Log } from '../../src/ports/log.ts'
import type { RecordStore } from '../../src/ports/record-store.ts'
import type { SignalStore } from '../../src/ports/signal-store.ts'
import { createMemoryEventLog } from '../../src/storage/memory/event-log.ts'
import { createMemoryRecordStore } from '../../src/storage/memory/record-store.ts'
import { createMemorySignalStore } from '../../src/storage/memory/signal-store.ts'
import { systemClock } from '../../src/system/clock.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import type { Doors } from '../../src/transports/doors.ts'
import { memoryProjects } from './memory-projects.ts'
import { createHttpTransport } from '../../src/transports/http/server.ts'
import type { McpExtend } from '../../src/transports/mcp/extension.ts'
import { createMcpHttp } from '../../src/transports/mcp/http.ts'
import { gitRunner } from './git-world.ts'
import { playedOutside } from './outside.ts'
import { AS_WRITTEN } from './played-places.ts'

export interface SmallHub {
  url: string
  port: number
  server: Server
  kernel: Kernel
  signals: SignalModule
  personas: PersonaRegistry
  records: Records
  /** What the hub itself keeps. */
  home: RecordStore
  coordinator: CoordinatorModule
  routines: RoutineModule
  store: SignalStore
  events: EventLog
  /** Lines for logs/dispatch.jsonl. */
  lines: DispatchLine[]
  /** What was logged, with its level. */
  logged: { level: string; fields: object; message: string }[]
  /** Change it to see a hub that is not ready. */
  readiness: { ready: boolean; reason: string | null }
  operator: string
  token(identity: string, kind?: 'agent' | 'daemon' | 'observer', session_id?: string): string
  expiredToken(identity: string): string
  /** One request with a JSON body, as the operator unless another token is given (null for none). */
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
  /** Null when the answer is no JSON. */
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
  const registrations = createRegistrations({
    clock,
    events: {
      joined: () => {},
      left: ({ identity, session_id }) => void sessions.lost(identity, session_id),
    },
  })
  const home = createMemoryRecordStore()
  const projects = await openProjects({ records: home, places: AS_WRITTEN, clock, ids, log })
  const personas = await openPersonaRegistry({
    ...{ records: home, projects, registrations },
    pendingCount: (identity) => store.pendingCount(identity),
    expiredCount: (identity) => store.expiredCount(identity),
    changed: () => {},
    clock,
    log,
  })
  const facades = options.facades ?? FACADES
  const openProject = memoryProjects()
  const records = createRecords({
    kinds: facades.flatMap(({ kinds = [] }) => kinds),
    ...{ home, openProject, projects, personas, events, clock, ids, log },
  })
  const memory = openMemory({
    ...{ home, openProject, projects, personas, records, events, clock, ids, log },
  })
  const routes = createRouteResolver(registrations)
  const coordinator = await openCoordinator({
    ...{ records: home, registrations, personas, events, clock, ids, log },
  })
  const runs = createRuns({ records: home, events, clock, ids, log })
  const signals = createSignals({
    ...{ store, personas, routes, events: signalEvents(events), clock, ids, log },
    subscribers: (topic) => coordinator.subscribers(topic),
  })
  await signals.start()
  const sessions = createSessionEnd({ registrations, routes, modules: () => [signals, coordinator] })

  const git = createGit({
    ...{ git: gitRunner, clock },
    rootOf: (asking) => repositoryRoot({ projects, personas }, asking),
    linksOf: (asking) => recordedLinks(records, asking),
  })

  const { outside = playedOutside(), settings } = options
  const { routines, workflow } = openRoutines({
    ...{ outside, settings, personas, projects, home, clock, ids, log },
    kinds: records.kinds.list().map(({ kind }) => kind),
  })
  const lines: DispatchLine[] = []
  const kernel = createKernel({
    facades,
    ...(options.grants === undefined ? {} : { grants: options.grants }),
    modules: {
      signals,
      personas,
      projects,
      records,
      ...memory.modules,
      git,
      coordinator,
      runs,
      routines,
      workflow,
      plugins: [],
    },
    events,
    clock,
    ids,
    log,
    line: (line) => lines.push(line),
  })
  const tokens = createTokens({ signing_key: 'k', operator_token: OPERATOR, tenant_id: 'local', clock })
  const server = createServer()
  const port = await listening(server)
  const readiness: SmallHub['readiness'] = { ready: true, reason: null }
  const doors: Doors = {
    authenticate: (token) => tokens.authenticate(token),
    issueToken: (caller, request) => tokens.issue(caller, request),
    endSession: (caller) => sessions.end(caller),
    health: () => ({
      status: 'ok',
      version: '0.0.0',
      uptime_s: 1,
      connected: { agent: 0, daemon: 0, observer: 0 },
    }),
    readiness: () => readiness,
    metricsText: () => Promise.resolve('# HELP turnbell_hub_up 1\nturnbell_hub_up 1\n'),
    events,
    ownHosts: () => [`127.0.0.1:${port}`, `localhost:${port}`],
    log,
    clock,
    ids,
  }
  const projection = projectMcp(kernel)
  const mcp = await createMcpHttp({ kernel, projection, doors, version: '0.0.0', extend: options.extend })
  const http = createHttpTransport({ kernel, doors, version: '0.0.0', raw: [mcp] })
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
      await events.close()
      await store.close()
    },
  }
}

/** The hub's own mapping lives in `hub/push.ts`; a door only needs to hear of pushes. */
function signalEvents(events: EventLog): SignalEvents {
  const none = () => {}
  return {
    pushed: (push) => {
      events.append({
        type: 'signal.pushed',
        agent_id: push.to,
        data: { signal_id: push.signal_id, from: push.from, intent: push.intent },
      })
    },
    repeated: none,
    drained: none,
    confirmed: none,
    released: none,
    replayed: none,
    freed: none,
    completed: none,
    expired: none,
    cancelled: none,
    dead: none,
    replyRefused: none,
    rung: none,
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

/** The problem's code of a refused call; fails when it was not refused. */
export async function refusedWith(call: () => unknown): Promise<string> {
  try {
    await call()
  } catch (error) {
    if (error instanceof TurnbellError) return error.code
    throw error
  }
  throw new Error('it was not refused')
}

/** Something for ada; answers its `signal_id`. */
export async function send(hub: SmallHub, payload: string): Promise<string> {
  const { body } = await hub.request('POST', '/api/signals/send', {
    body: { to: 'ada', intent: 'test', payload },
  })
  return (body as unknown as { signal_id: string }).signal_id
}
