/**
 * The daemon around its machine: what comes from the hub, the surface and the control socket goes into the
 * mailbox, what the machine asks for is performed. Everything from outside comes in through ports, so a
 * simulation runs this very code.
 */
import type { DaemonStatus, MachineState, NotifyResult } from '../contracts/control.ts'
import type { Doorbell } from '../contracts/doorbell.ts'
import { CLOSE, type HubFrame } from '../contracts/frames.ts'
import type { SurfaceKind } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { DaemonErrorClass } from '../contracts/metrics.ts'
import type { SurfaceFacts } from '../contracts/registry.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { HubLink } from '../ports/hub-link.ts'
import type { Log } from '../ports/log.ts'
import type { Ids, Random } from '../ports/random.ts'
import type { LocalSockets, RpcListener } from '../ports/rpc.ts'
import { controlHandlers } from './control.ts'
import { perform, type EffectPorts } from './effects.ts'
import { createHeartbeat } from './heartbeat.ts'
import { deliveryReasonOf, factsOf, type PacerRules } from './history.ts'
import { stateOf } from './machine.ts'
import { createMailbox } from './mailbox.ts'
import { createMemoryKeeper, type MemoryFile } from './memory.ts'
import { createMetrics, type MetricsReading } from './metrics.ts'
import { inProgressIn, queueNews } from './queue-news.ts'
import { createSupervisor, type StartShim } from './supervise.ts'
import { createSurfaceSocket } from './surface-socket.ts'

export interface DaemonOptions {
  tenant_id: string
  identity: string
  surface: SurfaceKind
  rules: PacerRules
  pid: number
  paths: { socket_dir: string; control_socket: string; surface_socket: string }
  clock: Clock
  random: Random
  ids: Ids
  link: HubLink
  sockets: LocalSockets
  /** Makes the directories of the sockets again, after somebody removed them. May throw. */
  remakeDirectories: () => void
  /** Calls when the hub has become ready, for as long as the handle is not closed; null where nothing tells. */
  watchHub: ((onBack: () => void) => { close(): void }) | null
  /** Starts the surface's shim; null where there is nothing to start. */
  startShim: StartShim | null
  /** What survives a restart of the daemon; null where nothing does. */
  memory: MemoryFile | null
  /** Replaces what `metrics.prom` says; null where nobody reads it. */
  writeMetrics: ((text: string) => void) | null
  log: Log
  /** Somebody asked the daemon to end; the owner of the process then calls `stop`. */
  onStopAsked: (why: StopReason) => void
  /**
   * A step or an effect threw. What the daemon knows can no longer be trusted, and it handles nothing more:
   * the owner ends the process.
   */
  onBug: (error: unknown) => void
}

export type StopReason =
  | { kind: 'asked' }
  /** The persona was wrapped or removed. */
  | { kind: 'lifecycle'; detail: string }
  /** Another daemon of this persona has taken the registration. */
  | { kind: 'replaced'; detail: string }

export interface Daemon {
  /**
   * Listens on both sockets, then begins to connect. Rejects with `bind_failed` or `home_not_permitted`.
   */
  start(): Promise<void>
  /** Shim stopped, link closed, sockets removed. Calling it twice is fine. */
  stop(): Promise<void>
  status(): DaemonStatus
}

/** Of control and surface. */
const SOCKETS = 2

export function createDaemon(options: DaemonOptions): Daemon {
  const { clock, random, ids, link, log, identity, tenant_id, onStopAsked } = options
  const started_at = clock.monotonic()
  const metrics = createMetrics(options)
  let stopping: Promise<void> | null = null
  let publishing: Timer | null = null
  let listeners: RpcListener[] = []
  /** Those whose sockets are gone: their connections live on. */
  let orphaned: RpcListener[] = []
  let looking: Timer | null = null
  let relistening: Promise<void> | null = null
  let hub_watch: { close(): void } | null = null
  let requests = 0
  /** As the hub last told. */
  let in_progress_count = 0
  const reports = new Map<number, (doorbell: Doorbell | null) => void>()
  const notifications = new Map<number, (result: NotifyResult) => void>()

  const memory = createMemoryKeeper(options.memory, clock, (error) =>
    log.warn({ detail: String(error) }, 'daemon state could not be written'),
  )

  const mailbox = createMailbox({
    ...{ input: { ...options, memory: memory.read() }, clock, random, log },
    onStep(step) {
      memory.keep(step.context)
      followHub(stateOf(step))
    },
    perform: (effect) => perform(effect, ports),
    onBug: (error) => options.onBug(error),
  })
  const { post, snapshot } = mailbox
  /** Until then the last session may come back: of a daemon that ended, or of a shim that is started again. */
  let returns_by: number | null = started_at + LIMITS.session_return_ms

  // --- parts

  const surface = createSurfaceSocket(clock, log, {
    onReport(report, same_shim, answer) {
      const request = ++requests
      reports.set(request, answer)
      post({ type: 'SURFACE_REPORTED', report, same_shim, request })
      return request
    },
    onAbandoned(request) {
      reports.delete(request)
      post({ type: 'REPORT_ABANDONED', request })
    },
    onLost() {
      if (supervisor !== null) returns_by = clock.monotonic() + LIMITS.session_return_ms
      post({ type: 'SURFACE_LOST' })
    },
  })

  const supervisor = options.startShim && createSupervisor(options.startShim, clock, log)

  const heartbeat = createHeartbeat({
    clock,
    link,
    facts: factsForHub,
    metrics: () => metrics.set(reading()),
    onFailed: (detail) => countError('heartbeat_publish_failed', detail),
  })

  const ports: EffectPorts = {
    connect: () => link.connect({ onUp, onFrame, onDown }),
    closeLink() {
      heartbeat.stop()
      link.close()
    },
    send: (frame) => void link.send(frame),
    ring: (doorbell) => surface.ring(doorbell),
    probe(probe_id) {
      void surface.holdsBell().then((holds) => post({ type: 'SURFACE_PROBED', probe_id, holds }))
    },
    onBellAnswered({ doorbell_id, signal_id }, { accepted, proof }) {
      log.info({ doorbell_id, accepted, proof }, 'rang')
      post({ type: 'BELL_ANSWERED', doorbell_id, signal_id, accepted, proof })
    },
    answerReport(request, doorbell) {
      const answer = reports.get(request)
      reports.delete(request)
      answer?.(doorbell)
      if (doorbell !== null) log.info({ doorbell_id: doorbell.doorbell_id }, 'rang at the end of a turn')
    },
    answerNotify(request, result) {
      const answer = notifications.get(request)
      notifications.delete(request)
      answer?.(result)
    },
    publishFacts: () => heartbeat.beat('facts'),
    publishMetrics() {
      heartbeat.beat('facts and metrics')
      void publish()
    },
    resumeSurface() {
      supervisor?.hurry()
      surface.resume()
    },
    countError,
  }

  function countError(error_class: string, detail: string): void {
    metrics.countError(error_class)
    log.warn({ error_class, detail }, 'something went wrong')
  }

  function reading(): MetricsReading {
    const { last_drain_at, history } = snapshot().context
    return {
      last_heartbeat_at: heartbeat.lastAccepted(),
      last_drain_at,
      pending_count: history.pending.total,
    }
  }

  async function publish(up: 0 | 1 = 1): Promise<void> {
    const { writeMetrics } = options
    if (writeMetrics === null) return
    try {
      writeMetrics(await metrics.text(reading(), up))
    } catch (error) {
      // The file is a copy for people and scrapers: a full disk must not stop the daemon.
      log.warn({ detail: String(error) }, 'metrics.prom could not be written')
    }
  }

  // --- the hub

  /** Looked for only while it is away. */
  function followHub(state: MachineState): void {
    if (state !== 'DISCONNECTED') {
      hub_watch?.close()
      hub_watch = null
    } else if (hub_watch === null && stopping === null && options.watchHub !== null) {
      hub_watch = options.watchHub(() => post({ type: 'HUB_BACK', random: random.next() }))
    }
  }

  function onUp(welcome: Extract<HubFrame, { type: 'welcome' }>): void {
    log.info({ client_id: welcome.client_id }, 'linked to the hub')
    // Before the list is asked for: what waits depends on which session is there.
    heartbeat.start(welcome.heartbeat_interval_ms)
    post({ type: 'LINK_UP' })
  }

  function onDown(error_class: DaemonErrorClass, detail: string, code: number | null): void {
    heartbeat.stop()
    if (code === CLOSE.stale) return askToStop({ kind: 'replaced', detail })
    post({ type: 'LINK_LOST', error_class, detail, random: random.next() })
  }

  function onFrame(frame: HubFrame): void {
    in_progress_count = inProgressIn(frame) ?? in_progress_count
    switch (frame.type) {
      case 'pong':
        return heartbeat.accepted()
      case 'lifecycle.shutdown':
        return onLifecycle(frame.reason)
      case 'error':
        return onError(frame)
      default: {
        const news = queueNews(frame, ids)
        if (news !== null) post(news)
      }
    }
  }

  function onLifecycle(reason: string): void {
    log.info({ reason }, 'the hub announced a shutdown')
    // A hub that stops itself says so as well; then we wait for the next one.
    if (reason === 'wrap' || reason === 'remove') askToStop({ kind: 'lifecycle', detail: reason })
  }

  function onError({ id, code, detail }: Extract<HubFrame, { type: 'error' }>): void {
    log.warn({ code, detail }, 'the hub refused')
    if (code === 'persona_wrapped') return askToStop({ kind: 'lifecycle', detail })
    if (id !== undefined) {
      post({ type: 'PEEK_REFUSED', peek_id: String(id), detail: `${code}: ${detail}`, random: random.next() })
    }
  }

  function askToStop(why: StopReason): void {
    if (stopping === null) onStopAsked(why)
  }

  // --- control.sock

  function status(): DaemonStatus {
    const { context } = snapshot()
    const { delivery, last_received, history } = context
    const { surface, last_proof, bell, rerings } = history
    const { attached, kind, session_id, turn } = surface
    const reason = deliveryReasonOf(history, clock.monotonic())
    const state = stateOf(snapshot())
    return {
      tenant_id,
      identity,
      pid: options.pid,
      uptime_s: (clock.monotonic() - started_at) / 1000,
      state,
      connected: state === 'CONNECTED' || state === 'EMITTING',
      delivery: reason === null ? 'ok' : 'degraded',
      delivery_reason: reason,
      // What time alone has changed since the last event is new.
      delivery_reason_age_s: reason === delivery.reason ? (ageOf(delivery.since) ?? 0) : 0,
      in_progress_count,
      last_heartbeat_age_s: ageOf(heartbeat.lastAccepted()),
      last_drain_age_s: ageOf(context.last_drain_at),
      pending_count: history.pending.total,
      last_error_class: metrics.lastErrorClass(),
      last_error_age_s: ageOf(metrics.lastErrorAt()),
      surface: { kind, attached, session_id: attached ? session_id : null, turn, last_proof },
      doorbells_rung: context.doorbells_rung,
      doorbells_undrained: bell === null ? 0 : rerings + 1,
      last_rung_age_s: ageOf(history.last_rung_at),
      last_seen_age_s: ageOf(history.last_seen_at),
      last_received: last_received && {
        from: last_received.from,
        intent: last_received.intent,
        age_s: ageOf(last_received.at) ?? 0,
      },
      restarts: supervisor?.restarts() ?? 0,
    }
  }

  function ageOf(at: number | null): number | null {
    return at === null ? null : Math.max(0, (clock.monotonic() - at) / 1000)
  }

  const verbs = {
    status,
    notify_surface: () =>
      new Promise<NotifyResult>((resolve) => {
        const request = ++requests
        notifications.set(request, resolve)
        post({ type: 'NOTIFY_REQUESTED', request })
      }),
    resume_surface() {
      const accepted = snapshot().context.history.surface.attached || supervisor !== null || surface.isThere()
      if (accepted) post({ type: 'RESUME_REQUESTED' })
      return { accepted }
    },
    // In a later turn of the loop, so that the answer is written first.
    shutdown: () => void clock.after(0, () => askToStop({ kind: 'asked' })),
  }

  async function listen(): Promise<void> {
    const { socket_dir: directory, control_socket, surface_socket } = options.paths
    const control = controlHandlers({
      identity,
      verbs,
      onMismatch: (asked) => countError('ipc_auth_failed', `control.sock was asked about ${asked}`),
      onBug: (error, instance) => log.error({ err: error, instance }, 'a control verb broke'),
    })
    const first = await options.sockets.listen({ directory, path: control_socket }, () => control)
    try {
      const surfaces = { directory, path: surface_socket }
      listeners = [first, await options.sockets.listen(surfaces, (peer) => surface.handlersFor(peer))]
    } catch (error) {
      await first.close()
      throw error
    }
  }

  /** Something removed the sockets, as a cleaner of temporary files does: nobody else could reach this daemon. */
  function lookForSockets(): void {
    const are_there = listeners.length === SOCKETS && listeners.every((listener) => listener.isThere())
    if (are_there || stopping !== null) return
    relistening ??= relisten().finally(() => (relistening = null))
  }

  async function relisten(): Promise<void> {
    orphaned = [...orphaned, ...listeners]
    listeners = []
    try {
      options.remakeDirectories()
      await listen()
      memory.forgetWritten()
      memory.keep(snapshot().context)
      log.warn({ control_socket: options.paths.control_socket }, 'sockets were removed and created again')
    } catch (error) {
      log.warn({ detail: String(error) }, 'sockets were removed and could not be created again')
    }
  }

  return {
    status,
    async start() {
      try {
        await listen()
      } catch (error) {
        countError('ipc_bind_failed', String(error))
        await publish(0)
        throw error
      }
      looking = clock.every(LIMITS.socket_look_ms, lookForSockets)
      publishing = clock.every(LIMITS.metrics_publish_ms, () => void publish())
      void publish()
      supervisor?.start()
      post({ type: 'TIME_PASSED', random: random.next() })
    },
    stop() {
      stopping ??= stop()
      return stopping
    },
  }

  function factsForHub(): SurfaceFacts {
    const { history } = snapshot().context
    const facts = factsOf(history)
    if (facts.session_id !== null) returns_by = null
    const { last_session_id } = history.surface
    if (returns_by === null || clock.monotonic() >= returns_by || last_session_id === null) return facts
    // Attached without a session it would count as another one.
    return { ...facts, attached: false, returning_session_id: last_session_id }
  }

  async function stop(): Promise<void> {
    mailbox.close()
    publishing?.cancel()
    looking?.cancel()
    hub_watch?.close()
    surface.close()
    await relistening
    for (const answer of reports.values()) answer(null)
    await supervisor?.stop()
    // The hub would go on with what it was told last.
    heartbeat.beat('facts and metrics')
    heartbeat.stop()
    link.close()
    await Promise.all([...listeners, ...orphaned].map((listener) => listener.close()))
    await publish(0)
  }
}
