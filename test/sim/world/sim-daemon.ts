/** A daemon of the simulation: the real daemon and its real link, over simulated sockets and a simulated clock. */
import { createHubLink } from '../../../src/daemon/link/hub-link.ts'
import { createTokenSource } from '../../../src/daemon/link/hub-token.ts'
import { createDaemon, type Daemon, type StopReason } from '../../../src/daemon/runtime.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { ClientFrame, HubFrame } from '../../../src/contracts/frames.ts'
import type { DaemonStatus } from '../../../src/contracts/control.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import type { PacerRules } from '../../../src/daemon/history.ts'
import type { HubLink } from '../../../src/ports/hub-link.ts'
import type { Log } from '../../../src/ports/log.ts'
import type { RpcHandlers, RpcPeer } from '../../../src/ports/rpc.ts'
import type { Doorbell } from '../../../src/contracts/doorbell.ts'
import type { SurfaceReport } from '../../../src/contracts/control.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Host } from './host.ts'
import type { Network } from './network.ts'
import type { SimLocalSockets } from './local-sockets.ts'
import { SECRETS } from './sim-hub.ts'

/** Observes a daemon from outside, for the rules that check it. */
export interface DaemonWatch {
  /** Called for each hub frame when it arrives; `up` marks the start of a new link. */
  onLink(daemon: SimDaemon, up: boolean): void
  onFrame(daemon: SimDaemon, frame: HubFrame): void
  /** Called for each frame that the daemon sends. */
  onSaid(daemon: SimDaemon, frame: ClientFrame): void
  onReport(daemon: SimDaemon, shim: number, report: SurfaceReport): void
  onShimGone(daemon: SimDaemon, shim: number): void
  /** Called when a doorbell is sent. `shim` is its receiver; `asked` is the report that it answers, or null. */
  onBell(daemon: SimDaemon, shim: number, doorbell: Doorbell, asked: SurfaceReport | null): void
  /** Called when the shim answered a doorbell or failed to. */
  onBellAnswered(daemon: SimDaemon, doorbell: Doorbell, accepted: boolean): void
  /**
   * Called when a request arrives at the control socket and when it is answered; `before` is the status at its arrival.
   */
  onAsking(daemon: SimDaemon, verb: string): void
  onAsked(daemon: SimDaemon, verb: string, answer: Json, before: DaemonStatus): void
  onLogged(host: Host, fields: object, message: string): void
  onBug(host: Host, error: unknown): void
  onStopped(daemon: SimDaemon, why: StopReason): void
}

export interface SimDaemon {
  host: Host
  identity: string
  status(): DaemonStatus
  stop(): Promise<void>
}

export const RULES: PacerRules = {
  reconnect_ring: 'boundary',
  reconnect_grace_ms: LIMITS.reconnect_grace_ms,
  reconnect_patience_ms: LIMITS.reconnect_patience_ms,
  bell_receipt_ms: LIMITS.bell_receipt_ms,
  redoorbell_max: LIMITS.redoorbell_max,
  receipts: true,
  headless: false,
}

export function controlSocket(identity: string): string {
  return `/run/${identity}/control.sock`
}

export function surfaceSocket(identity: string): string {
  return `/run/${identity}/surface.sock`
}

export interface DaemonSurroundings {
  network: Network
  sockets: SimLocalSockets
  watch: DaemonWatch
  /** Persisted state of each persona's daemon, by persona. */
  memories: Map<string, string>
}

export async function startDaemon(
  host: Host,
  identity: string,
  { network, sockets, watch, memories }: DaemonSurroundings,
): Promise<SimDaemon> {
  const { clock, random, ids } = host
  const log: Log = {
    debug() {},
    info() {},
    warn() {},
    error: (fields, message) => {
      if (host.alive) watch.onLogged(host, fields, message)
    },
  }
  const session_id = ids.next()
  const url = () => 'http://hub:1'
  const tokens = createTokenSource({
    ...{ url, identity, session_id, clock },
    operatorToken: () => SECRETS.operator_token,
    async post(address, token, body) {
      const asked = { path: new URL(address).pathname, token, body }
      const told = await network.ask(host, asked, LIMITS.hello_timeout_ms).catch((cause: unknown) => {
        throw new TurnbellError('hub_unreachable', { detail: address, cause })
      })
      return { status: told.status, text: JSON.stringify(told.body) }
    },
  })
  const link = createHubLink({
    ...{ url, identity, surface: 'claude-code', session_id, tokens, clock, log },
    dial: (_address, token) => network.dial(host, token),
  })
  let shims = 0
  const local = sockets.of(host)
  const daemon: Daemon = createDaemon({
    ...{ tenant_id: 'local', identity, surface: 'claude-code', rules: RULES, pid: 1 },
    paths: {
      socket_dir: `/run/${identity}`,
      control_socket: controlSocket(identity),
      surface_socket: surfaceSocket(identity),
    },
    ...{ clock, random, ids, log, startShim: null },
    state_file: {
      read: () => memories.get(identity) ?? null,
      write: (text) => void (host.alive && memories.set(identity, text)),
    },
    link: watched(link),
    sockets: {
      listen: (at, onPeer) =>
        local.listen(at, (peer) =>
          at.path === surfaceSocket(identity)
            ? watchedShim(++shims, peer, onPeer)
            : watchedControl(onPeer(peer)),
        ),
    },
    restoreRunFiles() {},
    watchHub: null,
    writeMetrics: null,
    onStopRequested: (why) => watch.onStopped(sim, why),
    onBug: (error) => watch.onBug(host, error),
  })
  const sim: SimDaemon = { host, identity, status: () => daemon.status(), stop: () => daemon.stop() }

  /** Observers are notified of each frame before the daemon, so that they know at least as much as it does. */
  function watched(real: HubLink): HubLink {
    return {
      ...real,
      send(frame) {
        watch.onSaid(sim, frame)
        return real.send(frame)
      },
      connect: (events) =>
        real.connect({
          onUp(welcome) {
            watch.onLink(sim, true)
            events.onUp(welcome)
          },
          onFrame(frame) {
            watch.onFrame(sim, frame)
            events.onFrame(frame)
          },
          onDown(error_class, detail, code) {
            watch.onLink(sim, false)
            events.onDown(error_class, detail, code)
          },
        }),
    }
  }

  function watchedShim(shim: number, peer: RpcPeer, onPeer: (peer: RpcPeer) => RpcHandlers): RpcHandlers {
    // Frames that were already written by the closed link are ignored.
    let gone = false
    const noteGone = () => {
      gone = true
      watch.onShimGone(sim, shim)
    }
    const handlers = onPeer({
      close() {
        noteGone()
        peer.close()
      },
      async request(method, params, timeout_ms) {
        if (method !== 'notify_surface') {
          const answer = await peer.request(method, params, timeout_ms)
          if (method === 'status' && !gone) watch.onReport(sim, shim, answer as unknown as SurfaceReport)
          return answer
        }
        const doorbell = params['doorbell'] as unknown as Doorbell
        watch.onBell(sim, shim, doorbell, null)
        try {
          const result = await peer.request(method, params, timeout_ms)
          watch.onBellAnswered(sim, doorbell, (result as { accepted?: boolean }).accepted === true)
          return result
        } catch (error) {
          watch.onBellAnswered(sim, doorbell, false)
          throw error
        }
      },
    })
    return {
      ...handlers,
      async onRequest(method, params) {
        const report = params as unknown as SurfaceReport
        if (!gone) watch.onReport(sim, shim, report)
        const answer = await handlers.onRequest(method, params)
        const { doorbell } = answer as { doorbell: Doorbell | null }
        if (doorbell !== null && host.alive) watch.onBell(sim, shim, doorbell, report)
        return answer
      },
      onClose() {
        noteGone()
        handlers.onClose()
      },
      onBug: (error) => watch.onBug(host, error),
    }
  }

  function watchedControl(handlers: RpcHandlers): RpcHandlers {
    return {
      ...handlers,
      onRequest(verb, params) {
        const before = daemon.status()
        watch.onAsking(sim, verb)
        const answer = handlers.onRequest(verb, params)
        const told = (result: Json): Json => {
          if (host.alive) watch.onAsked(sim, verb, result, before)
          return result
        }
        return answer instanceof Promise ? answer.then(told) : told(answer)
      },
    }
  }

  await daemon.start()
  return sim
}
