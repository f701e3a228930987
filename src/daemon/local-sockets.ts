/** The daemon's two local sockets, which are recreated if another process removes them. */
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { LocalSockets, RpcHandlers, RpcListener, RpcPeer } from '../ports/rpc.ts'

export interface SocketPaths {
  socket_dir: string
  control_socket: string
  surface_socket: string
}

export interface DaemonSocketsOptions {
  sockets: LocalSockets
  paths: SocketPaths
  control: (peer: RpcPeer) => RpcHandlers
  surface: (peer: RpcPeer) => RpcHandlers
  /** Recreates missing socket directories and the pid file. May throw. */
  restoreRunFiles: () => void
  /** Rewrites the state file if it was removed or changed. */
  restoreState: () => void
  clock: Pick<Clock, 'every'>
  log: Log
}

export interface DaemonSockets {
  /** Listens on both sockets. Rejects with `bind_failed` or `home_not_permitted`. */
  listen(): Promise<void>
  /** Starts checking every `socket_look_ms` whether the sockets still exist. */
  startChecks(): void
  /** Stops the checks; resolves when a running one has finished. */
  stopChecks(): Promise<void>
  close(): Promise<void>
}

/** Number of sockets: control and surface. */
const SOCKETS = 2

export function createDaemonSockets(options: DaemonSocketsOptions): DaemonSockets {
  const { paths, log } = options
  let listeners: RpcListener[] = []
  /** Listeners whose sockets were removed; their connections stay open. */
  let orphaned: RpcListener[] = []
  let timer: Timer | null = null
  let relistening: Promise<void> | null = null

  async function listen(): Promise<void> {
    const { socket_dir: directory, control_socket, surface_socket } = paths
    const control = await options.sockets.listen({ directory, path: control_socket }, options.control)
    try {
      const at = { directory, path: surface_socket }
      listeners = [control, await options.sockets.listen(at, options.surface)]
    } catch (error) {
      await control.close()
      throw error
    }
  }

  /** Recreates sockets that were removed, for example by a cleaner of temporary files; otherwise no new client could connect. */
  function check(): void {
    const exist = listeners.length === SOCKETS && listeners.every((listener) => listener.isThere())
    if (!exist) relistening ??= relisten().finally(() => (relistening = null))
    else checkRunFiles()
  }

  /** Restores missing run files such as the pid file. Failures are retried at the next check. */
  function checkRunFiles(): void {
    try {
      options.restoreRunFiles()
    } catch (error) {
      log.debug({ detail: String(error) }, 'restoring the run files failed')
    }
    options.restoreState()
  }

  async function relisten(): Promise<void> {
    try {
      options.restoreRunFiles()
      // Their descriptors would stay open until the end of the process.
      for (const listener of listeners) listener.stopAccepting()
      orphaned = [...orphaned, ...listeners]
      listeners = []
      await listen()
      options.restoreState()
      log.warn({ control_socket: paths.control_socket }, 'removed sockets recreated')
    } catch (error) {
      log.warn({ detail: String(error) }, 'recreating removed sockets failed')
    }
  }

  return {
    listen,
    startChecks() {
      timer = options.clock.every(LIMITS.socket_look_ms, check)
    },
    async stopChecks() {
      timer?.cancel()
      await relistening
    },
    async close() {
      await Promise.all([...listeners, ...orphaned].map((listener) => listener.close()))
    },
  }
}
