/**
 * Connects the machine to its surroundings: events from the hub, the surface and the control socket are
 * posted to the mailbox, and the machine's effects are performed. All I/O is behind ports, so the simulation
 * runs this code unchanged.
 */
import type { DaemonStatus, NotifyResult } from '../contracts/control.ts'
import type { Doorbell } from '../contracts/doorbell.ts'
import type { SurfaceKind } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { SurfaceFacts } from '../contracts/registry.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { HubLink, HubLinkEvents } from '../ports/hub-link.ts'
import type { Log } from '../ports/log.ts'
import type { Ids, Random } from '../ports/random.ts'
import type { LocalSockets } from '../ports/rpc.ts'
import { controlHandlers, type ControlVerbs } from './control.ts'
import { performEffect, type EffectHandlers } from './events.ts'
import { createHeartbeat, type Heartbeat } from './heartbeat.ts'
import { factsOf, type PacerRules } from './history.ts'
import { createHubWatch, createLinkEvents, type StopReason, type WatchHub } from './link/link-events.ts'
import { createDaemonSockets, type DaemonSockets, type SocketPaths } from './local-sockets.ts'
import { stateOf, type DaemonSnapshot } from './machine.ts'
import { createMailbox, type Mailbox } from './mailbox.ts'
import { createMetrics, type DaemonMetrics, type MetricsReading } from './metrics.ts'
import { createStateKeeper, type StateFile } from './saved-state.ts'
import { daemonStatus } from './status.ts'
import { createSupervisor, type StartShim, type Supervisor } from './supervise.ts'
import { createSurfaceSocket, type SurfaceSocket } from './surface-socket.ts'

export type { StopReason } from './link/link-events.ts'

export interface DaemonOptions {
  tenant_id: string
  identity: string
  surface: SurfaceKind
  rules: PacerRules
  pid: number
  paths: SocketPaths
  clock: Clock
  random: Random
  ids: Ids
  link: HubLink
  sockets: LocalSockets
  /** Recreates missing socket directories and the pid file. May throw. */
  restoreRunFiles: () => void
  /**
   * Watches for the hub on this machine becoming ready, until the handle is closed; null if that cannot be
   * watched.
   */
  watchHub: WatchHub | null
  /** Starts the surface's shim; null if this daemon does not supervise one. */
  startShim: StartShim | null
  /** File for the state that survives a restart of the daemon; null disables it. */
  state_file: StateFile | null
  /** Replaces the content of `metrics.prom`; null disables it. */
  writeMetrics: ((text: string) => void) | null
  log: Log
  /** Called when the daemon must stop; the owner of the process then calls `stop`. */
  onStopRequested: (why: StopReason) => void
  /**
   * Called when a step or an effect threw. The daemon's state can no longer be trusted and it handles no
   * further events; the owner ends the process.
   */
  onBug: (error: unknown) => void
}

export interface Daemon {
  /** Listens on both sockets, then starts connecting. Rejects with `bind_failed` or `home_not_permitted`. */
  start(): Promise<void>
  /** Stops the shim, closes the link and removes the sockets. Idempotent. */
  stop(): Promise<void>
  status(): DaemonStatus
}

export function createDaemon(options: DaemonOptions): Daemon {
  const { clock, random, link } = options
  const started_at = clock.monotonic()
  let stopping: Promise<void> | null = null
  let publishing: Timer | null = null

  const requestStop = (why: StopReason) => {
    if (stopping === null) options.onStopRequested(why)
  }
  const parts = composeParts(options, requestStop)
  const { metrics, mailbox, hub_watch, surface, supervisor, heartbeat, publish } = parts

  const status = (): DaemonStatus =>
    daemonStatus({
      tenant_id: options.tenant_id,
      identity: options.identity,
      pid: options.pid,
      started_at,
      now: clock.monotonic(),
      snapshot: mailbox.snapshot(),
      in_progress_count: parts.link_events.inProgressCount(),
      last_heartbeat_at: heartbeat.lastAccepted(),
      metrics,
      restarts: supervisor?.restarts() ?? 0,
    })
  const sockets = openSockets(parts, controlVerbs(parts, status, requestStop))

  async function stop(): Promise<void> {
    mailbox.close()
    publishing?.cancel()
    hub_watch.close()
    surface.close()
    await sockets.stopChecks()
    parts.reports.answerAll(null)
    await supervisor?.stop()
    // The hub keeps the last reported values.
    heartbeat.beat('facts and metrics')
    heartbeat.stop()
    link.close()
    await sockets.close()
    await publish(0)
  }

  return {
    status,
    async start() {
      try {
        await sockets.listen()
      } catch (error) {
        parts.countError('ipc_bind_failed', String(error))
        await publish(0)
        throw error
      }
      sockets.startChecks()
      publishing = clock.every(LIMITS.metrics_publish_ms, () => void publish(1))
      void publish(1)
      supervisor?.start()
      mailbox.post({ type: 'TIME_PASSED', random: random.next() })
    },
    stop: () => (stopping ??= stop()),
  }
}

type DaemonParts = ReturnType<typeof composeParts>

/** Composes the daemon from its parts. Each part posts events; the handlers perform the machine's effects. */
function composeParts(options: DaemonOptions, requestStop: (why: StopReason) => void) {
  const { clock, random, ids, link, log } = options
  const metrics = createMetrics(options)
  const countError = (error_class: string, detail: string) => {
    metrics.countError(error_class)
    log.warn({ error_class, detail }, 'error counted')
  }
  const state = createStateKeeper(options.state_file, clock, (error) =>
    log.warn({ detail: String(error) }, 'writing the state file failed'),
  )
  const mailbox = createMailbox({
    input: { ...options, saved_state: state.read() },
    clock,
    random,
    log,
    onBug: (error) => options.onBug(error),
  })
  const { post, snapshot } = mailbox
  const hub_watch = createHubWatch(options.watchHub, () => post({ type: 'HUB_BACK', random: random.next() }))
  const returning = createReturnWindow(clock)
  const supervisor = options.startShim && createSupervisor(options.startShim, clock, log)
  const reports = createPendingResponses<Doorbell | null>()
  const surface = createSurfaceSocket(clock, log, {
    onReport(report, same_shim, answer) {
      const request = reports.add(answer)
      post({ type: 'SURFACE_REPORTED', report, same_shim, request })
      return request
    },
    onAbandoned(request) {
      reports.drop(request)
      post({ type: 'REPORT_ABANDONED', request })
    },
    onLost() {
      if (supervisor !== null) returning.open()
      post({ type: 'SURFACE_LOST' })
    },
  })
  const heartbeat = createHeartbeat({
    clock,
    link,
    facts: () => returning.factsOf(snapshot()),
    metrics: (last_accepted_at) => metrics.set(readingOf(snapshot(), last_accepted_at)),
    onFailed: (detail) => countError('heartbeat_publish_failed', detail),
  })
  const link_events = createLinkEvents({ post, heartbeat, ids, random, log, requestStop })
  const publish = createPublisher(options, metrics, () => readingOf(snapshot(), heartbeat.lastAccepted()))
  const notifications = createPendingResponses<NotifyResult>()
  const local = {
    options,
    mailbox,
    surface,
    supervisor,
    reports,
    notifications,
    heartbeat,
    publish,
    countError,
  }
  const effects: EffectHandlers = { ...linkEffects(link, link_events, heartbeat), ...localEffects(local) }
  mailbox.attach({
    onStep(step) {
      state.save(step.context)
      hub_watch.follow(stateOf(step))
    },
    perform: (effect) => performEffect(effect, effects),
  })
  return { ...local, metrics, state, hub_watch, link_events }
}

type PendingResponses<T> = ReturnType<typeof createPendingResponses<T>>

interface LocalParts {
  options: DaemonOptions
  mailbox: Mailbox
  surface: SurfaceSocket
  supervisor: Supervisor | null
  reports: PendingResponses<Doorbell | null>
  notifications: PendingResponses<NotifyResult>
  heartbeat: Heartbeat
  publish: (up: 0 | 1) => Promise<void>
  countError: (error_class: string, detail: string) => void
}

function localEffects(parts: LocalParts) {
  const { mailbox, surface, supervisor, reports, notifications, heartbeat } = parts
  const { log } = parts.options
  return {
    ring({ doorbell, request }) {
      const { doorbell_id, signal_id } = doorbell
      if (request !== null) {
        reports.answer(request, doorbell)
        return log.info({ doorbell_id }, 'doorbell returned at the end of a turn')
      }
      void surface.ring(doorbell).then(({ accepted, proof }) => {
        log.info({ doorbell_id, accepted, proof }, 'doorbell delivery finished')
        mailbox.post({ type: 'BELL_ANSWERED', doorbell_id, signal_id, accepted, proof })
      })
    },
    probe({ probe_id }) {
      void surface.holdsBell().then((holds) => mailbox.post({ type: 'SURFACE_PROBED', probe_id, holds }))
    },
    answerReport: ({ request }) => reports.answer(request, null),
    answerNotify: ({ request, result }) => notifications.answer(request, result),
    publishMetrics() {
      heartbeat.beat('facts and metrics')
      void parts.publish(1)
    },
    resumeSurface() {
      supervisor?.restartNow()
      surface.resume()
    },
    countError: ({ error_class, detail }) => parts.countError(error_class, detail),
  } satisfies Partial<EffectHandlers>
}

function controlVerbs(
  { options: { clock }, mailbox, surface, supervisor, notifications }: LocalParts,
  status: () => DaemonStatus,
  requestStop: (why: StopReason) => void,
): ControlVerbs {
  const { post, snapshot } = mailbox
  return {
    status,
    notify_surface: () =>
      new Promise((resolve) => post({ type: 'NOTIFY_REQUESTED', request: notifications.add(resolve) })),
    resume_surface() {
      const { attached } = snapshot().context.history.surface
      const accepted = attached || supervisor !== null || surface.hasConnection()
      if (accepted) post({ type: 'RESUME_REQUESTED' })
      return { accepted }
    },
    // Deferred to a later tick of the event loop, so that the response is written first.
    shutdown: () => void clock.after(0, () => requestStop({ kind: 'requested' })),
  }
}

function openSockets(
  { options, mailbox, surface, state, countError }: DaemonParts,
  verbs: ControlVerbs,
): DaemonSockets {
  const { clock, log, identity } = options
  const control = controlHandlers({
    identity,
    verbs,
    onMismatch: (other) => countError('ipc_auth_failed', `a request on control.sock named ${other}`),
    onBug: (error, instance) => log.error({ err: error, instance }, 'control request failed'),
  })
  return createDaemonSockets({
    sockets: options.sockets,
    paths: options.paths,
    control: () => control,
    surface: (peer) => surface.handlersFor(peer),
    restoreRunFiles: () => options.restoreRunFiles(),
    restoreState() {
      state.checkWritten()
      state.save(mailbox.snapshot().context)
    },
    clock,
    log,
  })
}

function readingOf({ context }: DaemonSnapshot, last_heartbeat_at: number | null): MetricsReading {
  const { last_drain_at, history } = context
  return { last_heartbeat_at, last_drain_at, pending_count: history.pending.total }
}

/** Returns a function that writes `metrics.prom`; `up` is 0 in the last file of a stopping daemon. */
function createPublisher(
  { writeMetrics, log }: DaemonOptions,
  metrics: DaemonMetrics,
  reading: () => MetricsReading,
): (up: 0 | 1) => Promise<void> {
  return async (up) => {
    if (writeMetrics === null) return
    try {
      writeMetrics(await metrics.text(reading(), up))
    } catch (error) {
      // The file is a copy for people and scrapers; a full disk must not stop the daemon.
      log.warn({ detail: String(error) }, 'writing metrics.prom failed')
    }
  }
}

function linkEffects(link: HubLink, events: HubLinkEvents, heartbeat: Heartbeat) {
  return {
    connect: () => link.connect(events),
    closeLink() {
      heartbeat.stop()
      link.close()
    },
    peek: ({ peek_id, limit }) => void link.send({ type: 'pending.peek', id: peek_id, limit }),
    reportDoorbell: (params) => void link.send({ type: 'doorbell', ...params }),
    publishFacts: () => heartbeat.beat('facts'),
  } satisfies Partial<EffectHandlers>
}

/** Requests whose response is given by a later effect of the machine. */
function createPendingResponses<T>() {
  const waiting = new Map<number, (response: T) => void>()
  let requests = 0
  return {
    /** Returns the id of the request. */
    add(respond: (response: T) => void): number {
      waiting.set(++requests, respond)
      return requests
    },
    drop: (request: number) => void waiting.delete(request),
    answer(request: number, response: T): void {
      const respond = waiting.get(request)
      waiting.delete(request)
      respond?.(response)
    },
    answerAll(response: T): void {
      for (const respond of waiting.values()) respond(response)
    },
  }
}

/** Time in which the last session may return: after a restart of the daemon, or of its supervised shim. */
function createReturnWindow(clock: Pick<Clock, 'monotonic'>) {
  let until: number | null = clock.monotonic() + LIMITS.session_return_ms
  return {
    open(): void {
      until = clock.monotonic() + LIMITS.session_return_ms
    },
    /** The facts for the hub; within the window they name the session that may return. */
    factsOf({ context: { history } }: DaemonSnapshot): SurfaceFacts {
      const facts = factsOf(history)
      if (facts.session_id !== null) until = null
      const { last_session_id } = history.surface
      if (until === null || clock.monotonic() >= until || last_session_id === null) return facts
      // Attached without a session it would count as another session.
      return { ...facts, attached: false, returning_session_id: last_session_id }
    },
  }
}
