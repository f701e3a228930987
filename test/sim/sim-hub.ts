/** A hub of the simulation: the real one, over a simulated disk, network and clock. */
import { FACADES } from '../../src/facades/all.ts'
import { createHub, type Hub } from '../../src/hub/hub.ts'
import { fromProblem, toProblem, TurnbellError } from '../../src/contracts/errors.ts'
import type { HubEvent } from '../../src/contracts/events.ts'
import type { ClientFrame, HubFrame } from '../../src/contracts/frames.ts'
import { TokenRequest } from '../../src/contracts/token.ts'
import type { EventLog } from '../../src/ports/event-log.ts'
import type { Log } from '../../src/ports/log.ts'
import { textOf, type FrameSocket } from '../../src/ports/frame-socket.ts'
import type { SignalStore } from '../../src/ports/signal-store.ts'
import { openFileSignalStore } from '../../src/storage/file/signal-store.ts'
import { createMemoryEventLog } from '../../src/storage/memory/event-log.ts'
import type { Retention } from '../../src/storage/retention.ts'
import type { MemoryDisk } from '../support/memory-disk.ts'
import { memoryProjects } from '../support/memory-projects.ts'
import { playedOutside } from '../support/outside.ts'
import { AS_WRITTEN } from '../support/played-places.ts'
import { Killed, type Host } from './host.ts'
import type { Asked, Service, Told } from './network.ts'
import { playedRecords } from './played-records.ts'
import { processDisk, type DiskWorld } from './process-disk.ts'
import type { RecordPlatters } from './record-platters.ts'

export const SECRETS = { operator_token: 'tbop_simulated-operator', signing_key: 'simulated-signing-key' }
export const HUB_DIRECTORY = '/home/hub'

/** Short enough that hours of a simulation see everything that a store ever forgets. */
export const SIM_RETENTION: Retention = {
  deliveries_max: 5,
  idempotency_window_ms: 20 * 60_000,
  finished_retention_ms: 40 * 60_000,
}
const SEGMENT_BYTES_MAX = 12 * 1024

export interface HubWorld extends DiskWorld {
  platters: MemoryDisk
  /** What the hub keeps of personas and projects; how files do that is another test's. */
  records: RecordPlatters
  /** From now on it is this one that has the store; it has told nothing yet. */
  onTaken(host: Host): void
  /** An error was logged that no fault explains. */
  onLogged(host: Host, fields: object, message: string): void
  /** Its store takes no more changes. */
  onFatal(host: Host, error: TurnbellError): void
  /** The hub says of its own what has happened. */
  onEvent(host: Host, event: HubEvent): void
  /** A frame reaches it. */
  onHeard(hub: SimHub, socket: FrameSocket, text: string): void
  /** So does a call. */
  onReached(hub: SimHub, asked: Asked): void
  /** Says what is wrong with an answer to this call, before it leaves; `began` is when the hub heard of it. */
  onAnswer(hub: SimHub, asked: Asked, told: Told, began: number): void
}

export interface SimHub extends Service {
  /** When it began to read what it knows of personas. */
  since: number
  hub: Hub
  store: SignalStore
  events: EventLog
  /** Why it takes no writes any more; null while it does. */
  fatal: TurnbellError | null
  /** SIGTERM. */
  stop(): Promise<void>
}

/** Rejects with what a hub refuses to start with. */
export async function startHub(host: Host, world: HubWorld, last_event_seq: number): Promise<SimHub> {
  const log: Log = {
    debug() {},
    info() {},
    warn() {},
    error: (fields, message) => {
      if (host.alive) world.onLogged(host, fields, message)
    },
  }
  const store = await openFileSignalStore({
    directory: HUB_DIRECTORY,
    clock: host.clock,
    disk: processDisk(host, world.platters, world),
    retention: SIM_RETENTION,
    segment_bytes_max: SEGMENT_BYTES_MAX,
    onFatal(error) {
      sim.fatal = error
      world.onFatal(host, error)
    },
    // The hub's own process begins anew in its place; here that is another one.
    onWritable: () => void end(),
  })
  if (host.alive) world.onTaken(host)
  const events = createMemoryEventLog(host.clock, { last_seq: last_event_seq, events_max: 1_000 })
  events.watch((event) => {
    if (host.alive) world.onEvent(host, event)
  })
  const since = world.timeline.now
  const hub = await createHub({
    ...{ tenant_id: 'local', version: '0.0.0', secrets: SECRETS },
    stores: {
      ...{ signals: store, events },
      records: playedRecords(world.records, host, world, () => store.checkOwned()),
    },
    openProject: memoryProjects(),
    places: AS_WRITTEN,
    git: { run: () => Promise.reject(new Error('no git here')) },
    facades: FACADES,
    outside: playedOutside(),
    ...{ clock: host.clock, ids: host.ids, log },
    ownHosts: () => ['hub:1'],
  })
  /** Answers that are being written. */
  const leaving = new Set<Promise<unknown>>()
  let stopped: Promise<void> | null = null
  const stop = async () => {
    hub.stopping()
    // As the hub's server does: what runs comes to its end, and its answer leaves.
    while (hub.underway.size + leaving.size > 0) await Promise.allSettled([...hub.underway, ...leaving])
    await hub.close()
    await events.close()
    await store.close()
  }
  const end = () =>
    sim
      .stop()
      .catch(() => undefined)
      .then(() => host.kill())
  const sim: SimHub = {
    ...{ host, since, hub, store, events },
    fatal: null,
    open(socket, token) {
      socket.on('message', (data) => world.onHeard(sim, socket, textOf(data)))
      judgeCalls(socket, token, sim, world)
      hub.connections.open(socket, token)
    },
    async serve(asked, answered) {
      const began = world.timeline.now
      world.onReached(sim, asked)
      if (!hub.isStopping()) {
        leaving.add(answered)
        void answered.then(() => leaving.delete(answered))
      }
      const told = await serve(hub, asked, answered)
      if (host.alive) world.onAnswer(sim, asked, told, began)
      return told
    },
    stop: () => (stopped ??= stop()),
  }
  await hub.start()
  return sim
}

/** What is called over a WebSocket is held against the same rules as what is called over HTTP. */
function judgeCalls(socket: FrameSocket, token: string | null, sim: SimHub, world: HubWorld): void {
  const underway = new Map<string | number, { asked: Asked; began: number }>()
  socket.on('message', (data) => {
    const frame = JSON.parse(textOf(data)) as ClientFrame
    if (frame.type !== 'call') return
    const { id, facade, action, params } = frame
    const asked = { path: `/api/${facade}/${action}`, token, body: params }
    world.onReached(sim, asked)
    underway.set(id, { asked, began: world.timeline.now })
  })
  const send = socket.send.bind(socket)
  socket.send = (text, done) => {
    if (underway.size > 0 && sim.host.alive) judge(JSON.parse(text) as HubFrame)
    send(text, done)
  }
  function judge(frame: HubFrame): void {
    if ((frame.type !== 'result' && frame.type !== 'error') || frame.id === undefined) return
    const call = underway.get(frame.id)
    if (call === undefined) return
    underway.delete(frame.id)
    const told =
      frame.type === 'error' ? { status: frame.status, body: frame } : { status: 200, body: frame['result'] }
    world.onAnswer(sim, call.asked, told, call.began)
  }
}

/** What the HTTP door does with a call, without HTTP. */
async function serve(
  hub: Hub,
  { path, token, body }: Asked,
  answered: Promise<'written' | 'broken'>,
): Promise<Told> {
  try {
    const caller = hub.doors.authenticate(token)
    if (path === '/auth/token')
      return { status: 200, body: hub.doors.issueToken(caller, TokenRequest.parse(body)) }
    if (path === '/metrics') return { status: 200, body: await hub.doors.metricsText() }
    if (hub.isStopping()) throw new TurnbellError('hub_stopping', { detail: 'The hub takes no new calls.' })
    const [facade = '', action = ''] = path.split('/').slice(2)
    const params = structuredClone(body)
    const running = hub.kernel.dispatch({ facade, action, params, caller, answered })
    hub.underway.add(running)
    const outcome = await running.finally(() => hub.underway.delete(running))
    if (!outcome.ok) return { status: outcome.problem.status, body: outcome.problem }
    return { status: 200, body: structuredClone(outcome.result) }
  } catch (error) {
    if (error instanceof Killed) throw error
    const problem = toProblem(error, 'simulation')
    return { status: problem.status, body: problem }
  }
}

/** The answer of a call that went well; throws the problem otherwise. */
export function resultOf<T>({ status, body }: Told): T {
  if (status !== 200) throw fromProblem(body as Parameters<typeof fromProblem>[0])
  return body as T
}
