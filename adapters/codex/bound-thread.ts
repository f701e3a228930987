/** The thread that is rung: its tracked state, and how it is reached. Shared by the parts of the surface. */
import type { AppServer } from './app-server.ts'
import type { ReportedThreads } from './thread-choice.ts'
import type { ServerKind } from './thread-search.ts'
import { startTracking, type TrackedThread } from './thread-tracker.ts'
import { trackedState, type Tracked } from '../tracked-state.ts'
import type { ClientProcess } from '../../src/contracts/clients/codex.ts'
import type { InstanceId } from '../../src/contracts/ids.ts'

export interface BoundThread extends Tracked<TrackedThread> {
  readonly servers: Record<ServerKind, AppServer | null>
  /** The process of each app-server, which runs the turns of its threads. */
  readonly instance_ids: Record<ServerKind, InstanceId | null>
  /** Threads that hooks and tool calls have reported. */
  reported: ReportedThreads
  /** How the thread is reached; null while none is bound. Without `live` only its queue can be reached. */
  route: { server_kind: ServerKind; live: boolean } | null
  /** Number of bindings; detects a thread that was bound during a call. */
  bind_count: number
  /** Number of lost app-server connections. */
  disconnect_count: number
  /** Returns the app-server through which the thread is reached. */
  readonly server: () => AppServer | null
  /** Returns the process that ran the hooks of the thread. */
  readonly client: () => ClientProcess | undefined
}

export function boundThread(now_ms: number): BoundThread {
  const thread: BoundThread = {
    ...trackedState(startTracking(now_ms)),
    servers: { own: null, shared: null },
    instance_ids: { own: null, shared: null },
    reported: new Map(),
    route: null,
    bind_count: 0,
    disconnect_count: 0,
    server: () => (thread.route === null ? null : thread.servers[thread.route.server_kind]),
    client() {
      const { thread_id } = thread.state()
      return thread_id === null ? undefined : thread.reported.get(thread_id)?.client
    },
  }
  thread.onMove((next) => {
    if (next.thread_id === null) thread.route = null
  })
  return thread
}

/** Returns the process that runs the thread's turns: its app-server, or a terminal that keeps it to itself. */
export function runningInstance({ route, instance_ids, client }: BoundThread): InstanceId | null {
  if (route?.live === true) return instance_ids[route.server_kind]
  const own_client = client()
  return own_client === undefined ? null : `${own_client.pid}:${own_client.started}`
}
