/** A daemon of the simulation: the real one and its real link, over simulated sockets and a simulated clock. */
import { createHubLink } from '../../src/daemon/hub-link.ts'
import { createTokenSource } from '../../src/daemon/hub-token.ts'
import { createDaemon, type Daemon, type StopReason } from '../../src/daemon/runtime.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import type { ClientFrame, HubFrame } from '../../src/contracts/frames.ts'
import type { DaemonStatus } from '../../src/contracts/control.ts'
import type { Json } from '../../src/contracts/ids.ts'
import type { PacerRules } from '../../src/daemon/history.ts'
import type { HubLink } from '../../src/ports/hub-link.ts'
import type { Log } from '../../src/ports/log.ts'
import type { RpcHandlers, RpcPeer } from '../../src/ports/rpc.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { SurfaceReport } from '../../src/contracts/control.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Host } from './host.ts'
import type { Network } from './network.ts'
import type { SimLocalSockets } from './local-sockets.ts'
import { SECRETS } from './sim-hub.ts'

/** What can be seen of a daemon from outside, for who checks it. */
export interface DaemonWatch {
  /** The hub's frames as they reach it; `up` begins a new link. */
  onLink(daemon: SimDaemon, up: boolean): void
  onFrame(daemon: SimDaemon, frame: HubFrame): void
  /** Its own frames as they leave. */
  onSaid(daemon: SimDaemon, frame: ClientFrame): void
  onReport(daemon: SimDaemon, shim: number, report: SurfaceReport): void
  onShimGone(daemon: SimDaemon, shim: number): void
  /** A bell leaves. `shim` is whom it goes to; `asked` is the report that it answers, if it answers one. */
  onBell(daemon: SimDaemon, shim: number, doorbell: Doorbell, asked: SurfaceReport | null): void
  /** The shim answered it, or failed to. */
  onBellAnswered(daemon: SimDaemon, doorbell: Doorbell, accepted: boolean): void
  /** Somebody asks at its control socket, and is told; `before` is how it stood when it was asked. */
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
  /** What the daemon of each persona wrote to remember. */
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
    memory: {
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
    remakeDirectories() {},
    watchHub: null,
    writeMetrics: null,
    onStopAsked: (why) => watch.onStopped(sim, why),
    onBug: (error) => watch.onBug(host, error),
  })
  const sim: SimDaemon = { host, identity, status: () => daemon.status(), stop: () => daemon.stop() }

  /** What the daemon hears is told first, so that who looks on knows as much as it does. */
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
    // What it had still written is not heard any more.
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
