/** A hub of the simulation: the real hub, over a simulated disk, network and clock. */
import { FACADES } from '../../../src/facades/all.ts'
import { createHub, type Hub } from '../../../src/hub/hub.ts'
import { fromProblem, toProblem, TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { HubEvent } from '../../../src/contracts/events.ts'
import type { ClientFrame, HubFrame } from '../../../src/contracts/frames.ts'
import { TokenRequest } from '../../../src/contracts/token.ts'
import type { EventLog } from '../../../src/ports/event-log.ts'
import type { Log } from '../../../src/ports/log.ts'
import { textOf, type FrameSocket } from '../../../src/ports/frame-socket.ts'
import type { SentAnswer } from '../../../src/ports/sent-answer.ts'
import type { SignalStore } from '../../../src/ports/signal-store.ts'
import { openFileSignalStore } from '../../../src/storage/file/signals/signal-store.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import type { Retention } from '../../../src/storage/retention.ts'
import type { MemoryDisk } from '../../support/disk/memory-disk.ts'
import { memoryProjects } from '../../support/worlds/memory-projects.ts'
import { playedOutside } from '../../support/fakes/fake-outside.ts'
import { AS_WRITTEN } from '../../support/fakes/fake-path-inspector.ts'
import { Killed, type Host } from './host.ts'
import type { Asked, Service, Told } from './network.ts'
import { playedRecords } from './fake-records.ts'
import { processDisk, type DiskWorld } from './process-disk.ts'
import type { RecordPlatters } from './record-platters.ts'

export const SECRETS = { operator_token: 'tbop_simulated-operator', signing_key: 'simulated-signing-key' }
export const HUB_DIRECTORY = '/home/hub'

/** Short enough that a few simulated hours cover everything that a store forgets. */
export const SIM_RETENTION: Retention = {
  deliveries_max: 5,
  idempotency_window_ms: 20 * 60_000,
  finished_retention_ms: 40 * 60_000,
}
const SEGMENT_BYTES_MAX = 12 * 1024

export interface HubWorld extends DiskWorld {
  platters: MemoryDisk
  /** Personas and projects of the hub. The file format is tested elsewhere. */
  records: RecordPlatters
  /** Called when this hub has acquired the store and has not sent anything yet. */
  onTaken(host: Host): void
  /** Called when an error was logged that no fault explains. */
  onLogged(host: Host, fields: object, message: string): void
  /** Called when its store no longer accepts changes. */
  onFatal(host: Host, error: TurnbellError): void
  /** Called for each event that the hub publishes. */
  onEvent(host: Host, event: HubEvent): void
  /** Called for each frame that reaches the hub. */
  onHeard(hub: SimHub, socket: FrameSocket, text: string): void
  /** Called for each call that reaches the hub. */
  onReached(hub: SimHub, asked: Asked): void
  /**
   * Called before the response to a call is sent, and throws if the response is wrong. `began` is when the hub received
   * the call.
   */
  onAnswer(hub: SimHub, asked: Asked, told: Told, began: number): void
}

export interface SimHub extends Service {
  /** When it began to read the personas. */
  since: number
  hub: Hub
  store: SignalStore
  events: EventLog
  /** Reason why it rejects writes; null while it accepts them. */
  fatal: TurnbellError | null
  /** SIGTERM. */
  stop(): Promise<void>
}

/** Rejects with the error that prevents the hub from starting. */
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
    // The real process restarts itself in place. The simulation starts a new one.
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
    git: { open: () => Promise.reject(new Error('no git here')) },
    facades: FACADES,
    outside: playedOutside(),
    ...{ clock: host.clock, ids: host.ids, log },
    ownHosts: () => ['hub:1'],
  })
  /** Responses that are being written. */
  const leaving = new Set<Promise<unknown>>()
  let stopped: Promise<void> | null = null
  const stop = async () => {
    hub.stopping()
    // Like the real server: running calls finish and their responses are sent.
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
    async serve(asked, answer) {
      const began = world.timeline.now
      world.onReached(sim, asked)
      if (!hub.isStopping()) {
        const left = answer.written()
        leaving.add(left)
        void left.then(() => leaving.delete(left))
      }
      const told = await serve(hub, asked, answer)
      if (host.alive) world.onAnswer(sim, asked, told, began)
      return told
    },
    stop: () => (stopped ??= stop()),
  }
  await hub.start()
  return sim
}

/** Calls over a WebSocket are checked by the same rules as calls over HTTP. */
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

/** Serves a call like the HTTP transport, without HTTP. */
async function serve(hub: Hub, { path, token, body }: Asked, answer: SentAnswer): Promise<Told> {
  try {
    const caller = hub.api.authenticate(token)
    if (path === '/auth/token')
      return { status: 200, body: hub.api.issueToken(caller, TokenRequest.parse(body)) }
    if (path === '/metrics') return { status: 200, body: await hub.api.metricsText() }
    if (hub.isStopping()) throw new TurnbellError('hub_stopping', { detail: 'The hub takes no new calls.' })
    const [facade = '', action = ''] = path.split('/').slice(2)
    const params = structuredClone(body)
    const running = hub.kernel.dispatch({ facade, action, params, caller, answer })
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

/** Returns the result of a successful call; throws its problem otherwise. */
export function resultOf<T>({ status, body }: Told): T {
  if (status !== 200) throw fromProblem(body as Parameters<typeof fromProblem>[0])
  return body as T
}
