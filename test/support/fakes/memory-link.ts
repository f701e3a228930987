/** An in-memory hub link and in-memory local sockets: a whole daemon runs on a fake clock without I/O. */
import type { ClientFrame, HubFrame } from '../../../src/contracts/frames.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { HubLink, HubLinkEvents } from '../../../src/ports/hub-link.ts'
import type { LocalSockets, RpcHandlers, RpcParams, RpcPeer } from '../../../src/ports/rpc.ts'

export interface MemoryLink extends HubLink {
  /** If false, every attempt to connect fails. */
  reachable: boolean
  up(): boolean
  drop(): void
  push(frame: HubFrame): void
}

const WELCOME = {
  type: 'welcome',
  client_id: 'c1',
  heartbeat_interval_ms: 10_000,
  resume_seq: 0,
} as const

/** `answer` acts as the hub: its result is sent back on the link. */
export function memoryLink(clock: Clock, answer: (frame: ClientFrame) => HubFrame | null): MemoryLink {
  let events: HubLinkEvents | null = null
  let welcomed = false
  const end = () => {
    const told = events
    events = null
    welcomed = false
    return told
  }
  const link: MemoryLink = {
    reachable: true,
    up: () => welcomed,
    connect(given) {
      events = given
      clock.after(5, () => {
        if (events !== given) return
        if (!link.reachable) return end()?.onDown('ws_connect_failed', 'refused', null)
        welcomed = true
        given.onUp(WELCOME)
      })
    },
    send(frame) {
      if (!welcomed) return false
      const said = answer(frame)
      const to = events
      if (said !== null) clock.after(1, () => events === to && to?.onFrame(said))
      return true
    },
    close: () => void end(),
    drop: () => end()?.onDown('ws_stream_stalled', 'cut', 1006),
    push: (frame) => welcomed && events?.onFrame(frame),
  }
  return link
}

/** Local sockets that a test connects to by path. */
export function memorySockets() {
  const listeners = new Map<string, (peer: RpcPeer) => RpcHandlers>()
  const sockets: LocalSockets = {
    listen({ path }, onPeer) {
      listeners.set(path, onPeer)
      const gone = () => void listeners.delete(path)
      return Promise.resolve({ isThere: () => true, stopAccepting: gone, close: async () => gone() })
    },
  }
  return {
    sockets,
    /** `serve` answers the daemon's requests; the returned peer sends requests to the daemon. */
    connect(path: string, serve: (method: string, params: RpcParams) => Json) {
      const onPeer = listeners.get(path)
      if (onPeer === undefined) throw new Error(`nobody listens on ${path}`)
      const handlers = onPeer({
        request: (method, params) => Promise.resolve(serve(method, params)),
        close() {},
      })
      return {
        request: async (method: string, params: RpcParams) => handlers.onRequest(method, params),
        close: () => handlers.onClose(),
      }
    },
  }
}
