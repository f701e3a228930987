/** A fake daemon's control socket: answers four verbs as configured and records the requests. */
import fs from 'node:fs'
import { onTestFinished } from 'vitest'
import type { DaemonStatus } from '../../../src/contracts/control.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import type { PersonaPaths } from '../../../src/system/config/home.ts'
import { localSockets } from '../../../src/system/ipc/unix-socket.ts'
import type { RpcParams } from '../../../src/ports/rpc.ts'

export interface FakeDaemon {
  asked: { method: string; params: RpcParams }[]
  close(): Promise<void>
}

export function daemonStatus(identity: string, more: Partial<DaemonStatus> = {}): DaemonStatus {
  return {
    tenant_id: 'local',
    identity,
    pid: process.pid,
    uptime_s: 12,
    state: 'CONNECTED',
    connected: true,
    delivery: 'ok',
    delivery_reason: null,
    delivery_reason_age_s: 3,
    in_progress_count: 0,
    last_heartbeat_age_s: 1,
    last_drain_age_s: null,
    pending_count: 0,
    last_error_class: null,
    last_error_age_s: null,
    surface: {
      ...{ kind: 'mcp', attached: true, session_id: 's1', turn: 'idle', last_proof: null, via: null },
      ...{ interrupted_age_s: null, presence: null },
    },
    doorbells_rung: 0,
    doorbells_undrained: 0,
    last_rung_age_s: null,
    last_seen_age_s: null,
    last_received: null,
    restarts: 0,
    ...more,
  }
}

export async function fakeDaemon(
  paths: PersonaPaths,
  answer: (method: string, daemon: FakeDaemon) => Json | Promise<Json>,
): Promise<FakeDaemon> {
  fs.mkdirSync(paths.run_dir, { recursive: true, mode: 0o700 })
  const listener = await localSockets.listen(
    { directory: paths.socket_dir, path: paths.control_socket },
    () => ({
      onRequest(method, params) {
        daemon.asked.push({ method, params })
        return answer(method, daemon)
      },
      onClose() {},
    }),
  )
  let closed = false
  const daemon: FakeDaemon = {
    asked: [],
    async close() {
      if (!closed) await listener.close()
      closed = true
    },
  }
  onTestFinished(() => daemon.close())
  return daemon
}
