/**
 * A Codex thread as a surface: reports its turns, and rings by adding a message to the thread's queue, which Codex
 * runs as a turn of its own. The daemon decides whether a doorbell is due.
 *
 * The thread may be on the persona's own app-server, on the shared one of a plain `codex`, or in a terminal that
 * keeps it to itself. The last cannot be reached, but its queue can: every app-server of the same CODEX_HOME writes
 * to it, and the thread's hooks report its turns.
 */
import type { ActivityFeed } from './activity/activity-feed.ts'
import type { AppServer } from './app-server.ts'
import { bellQueue } from './bell-queue.ts'
import { bellRemoval, type BellRemoval } from './bell-removal.ts'
import { bellRinger } from './bell-ringer.ts'
import { bellWatch } from './bell-watch.ts'
import { bindSearch, type BindSearch } from './bind-search.ts'
import { boundThread, runningInstance, type BoundThread } from './bound-thread.ts'
import { earlyNotifications } from './early-notifications.ts'
import type { Notification } from './protocol.ts'
import { threadBinder } from './thread-binder.ts'
import { switchesThread, withNews } from './thread-choice.ts'
import { threadNotifications } from './thread-notifications.ts'
import type { ServerKind } from './thread-search.ts'
import { hookReported, pauseEnded, settle, reportedTurn, unbound } from './thread-tracker.ts'
import { threadWindow, type HasWindow, type ThreadWindow } from './thread-window.ts'
import { statusReporter } from '../status-reporter.ts'
import { pushStatus } from '../surface-results.ts'
import type { ClientProcess, ThreadNews } from '../../src/contracts/clients/codex.ts'
import type { SurfaceStatus } from '../../src/contracts/control.ts'
import type { Identity, InstanceId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

export interface CodexSurface extends Surface {
  open(host: SurfaceHost): void
  /** An app-server was connected: searches the thread in which a person works. */
  connected(server: AppServer, server_kind?: ServerKind): Promise<void>
  disconnected(server_kind?: ServerKind): void
  handleNotification(notification: Notification, server_kind?: ServerKind): void
  /** Returns the id of the thread that is rung. */
  bound(): string | null
  /** Handles reports of hooks and tool calls about threads that act for this persona. */
  handleNews(news: readonly ThreadNews[]): Promise<void>
  close(): void
}

export interface CodexSurfaceDeps {
  identity: Identity
  clock: Clock
  log: Log
  /** Connects if that was not tried yet. Resolves when `connected` was called or the attempt has failed. */
  reach?: (server_kind: ServerKind) => Promise<void>
  /** Whether the process that ran a thread's hooks is still running. */
  alive?: (client: ClientProcess) => boolean
  /** The people attached to the thread that the daemon keeps; their next turn ends a pause. Only for a kept thread. */
  people?: { isAttached(): boolean; untilDetached(): Promise<void> }
  /** Whether a person has a window open at this app-server. Absent for a headless agent, and if unknown. */
  hasWindow?: HasWindow
  /** Returns the process of an app-server, which runs the turns of its threads. */
  instanceId?: (server_kind: ServerKind) => InstanceId | null
  /** Records what the agent does in the bound thread. */
  activity?: Pick<ActivityFeed, 'bound' | 'boundByHooks' | 'subscribing'> | undefined
}

export function codexSurface(deps: CodexSurfaceDeps): CodexSurface {
  const parts = createParts(deps)
  const { thread, window, searches, reporter } = parts
  let check_timer: Timer | null = null

  return {
    async status() {
      if (thread.state().queued.length > 0) await parts.watch.check()
      return statusOf(thread, window)
    },

    notify_surface: (doorbell) => parts.ringer.ring(doorbell),

    async resume_surface() {
      // Unbound first, because the present binding may be wrong. Reported after the search.
      thread.replace(unbound(thread.state()))
      thread.route = null
      await searches.search()
      reporter.report()
    },

    open(daemon) {
      reporter.open(daemon)
      check_timer = deps.clock.every(LIMITS.codex_alive_look_ms, parts.checkClients)
    },

    async connected(to, server_kind = 'own') {
      thread.servers[server_kind] = to
      thread.instance_ids[server_kind] = deps.instanceId?.(server_kind) ?? null
      await searches.search()
      reporter.report()
    },

    disconnected(server_kind = 'own') {
      thread.servers[server_kind] = null
      thread.disconnect_count += 1
      if (thread.route?.server_kind !== server_kind) return
      thread.move(unbound(thread.state()))
      if (thread.reported.size > 0) void searches.search()
    },

    handleNotification(notification, server_kind = 'own') {
      // Ignored until `connected`, which searches the threads of the server.
      if (thread.servers[server_kind] !== null) parts.handleNotification(notification, server_kind)
    },

    bound: () => thread.state().thread_id,

    handleNews: (news) => handleNews(news, parts),

    close() {
      parts.settling.close()
      searches.close()
      check_timer?.cancel()
      reporter.close()
    },
  }
}

/** Creates the parts of the surface; each reacts to the changes of the bound thread in this order. */
function createParts(deps: CodexSurfaceDeps) {
  const { identity, clock, log, people, activity, alive = () => true, hasWindow = () => true } = deps
  const { reach = () => Promise.resolve() } = deps
  const thread = boundThread(clock.now())
  const queue = bellQueue(identity, log)
  const watch = bellWatch({ thread, queue, clock, log })
  const window = threadWindow(hasWindow)
  noteTurns(thread, window, hasWindow)
  const settling = settleTurns(thread, clock)
  const removal = bellRemoval({ thread, queue, log })
  endPauses(thread, people)
  const reporter = statusReporter(() => statusOf(thread, window))
  const { reportChange } = reporter
  thread.onMove(reportChange)

  const early = earlyNotifications()
  const binder = threadBinder({ identity, thread, window, early, watch, removal, clock, log, activity })
  const searches = bindSearch({ thread, queue, binder, early, reach, alive, clock, log })
  const handleNotification = threadNotifications({
    identity,
    thread,
    window,
    early,
    removal,
    binder,
    searches,
    onOpened: reportChange,
    log,
  })

  /** Checks for changes without an event: a killed client, a closed or opened window. */
  function checkClients(): void {
    unbindIfClientExited({ thread, removal, searches, alive, log })
    reportChange()
  }

  const ringer = bellRinger({
    thread,
    queue,
    watch,
    removal,
    log,
    checkShown() {
      checkClients()
      return isShown(thread, window)
    },
    isUnattended: () => knowsPeople(thread, people) && people?.isAttached() === false,
  })
  return {
    thread,
    window,
    watch,
    settling,
    removal,
    reporter,
    searches,
    ringer,
    handleNotification,
    checkClients,
  }
}

function statusOf(thread: BoundThread, window: ThreadWindow): SurfaceStatus {
  const state = thread.state()
  const facts = {
    ...state,
    turn: reportedTurn(state),
    window: state.thread_id === null || isShown(thread, window),
    outstanding_doorbell_id: state.queued.at(-1) ?? null,
    interrupted: state.paused,
    instance_id: runningInstance(thread),
  }
  return pushStatus('codex', state.thread_id, facts, state.thread_id !== null)
}

/** A thread that is not live is in a terminal of its own; `unbindIfClientExited` tracks that. */
function isShown({ route }: BoundThread, window: ThreadWindow): boolean {
  return route === null || !route.live || window.isShown(route.server_kind)
}

/** Notes each turn that begins while a window is open at the app-server, because the window shows its thread. */
function noteTurns(thread: BoundThread, window: ThreadWindow, hasWindow: HasWindow): void {
  thread.onMove((next, before) => {
    const begins = next.turn === 'busy' && next.turn_seq > before.turn_seq
    if (begins && thread.route?.live === true && hasWindow(thread.route.server_kind, 'now'))
      window.turnBegan()
  })
}

/** Ends a turn whose status is idle if its own report does not arrive in time. */
function settleTurns(thread: BoundThread, clock: Pick<Clock, 'after'>): { close(): void } {
  let timer: Timer | null = null
  thread.onMove(({ settle_pending }) => {
    timer?.cancel()
    timer = settle_pending
      ? clock.after(LIMITS.codex_settle_ms, () => thread.move(settle(thread.state())))
      : null
  })
  return { close: () => timer?.cancel() }
}

/** Attached people are known only for the live thread on the own app-server. */
function knowsPeople({ route }: BoundThread, people: CodexSurfaceDeps['people']): boolean {
  return people !== undefined && route?.server_kind === 'own' && route.live
}

/** Ends each pause when the last person has left, because no further turn of theirs will end it. */
function endPauses(thread: BoundThread, people: CodexSurfaceDeps['people']): void {
  async function endWhenAlone(): Promise<void> {
    const { thread_id } = thread.state()
    if (!knowsPeople(thread, people)) return
    await people?.untilDetached()
    if (thread.state().thread_id === thread_id && knowsPeople(thread, people))
      thread.move(pauseEnded(thread.state()))
  }

  thread.onMove((next, before) => {
    if (next.paused && !before.paused) void endWhenAlone()
  })
}

interface RebindDeps {
  thread: BoundThread
  removal: BellRemoval
  searches: BindSearch
}

/** Unbinds the thread if its terminal was killed, because no hook reports that. */
function unbindIfClientExited({
  thread,
  removal,
  searches,
  alive,
  log,
}: RebindDeps & { alive: (client: ClientProcess) => boolean; log: Log }): void {
  const client = thread.route?.live === false ? thread.client() : undefined
  if (client === undefined || alive(client)) return
  const { thread_id } = thread.state()
  log.info({ thread_id, client_pid: client.pid }, 'Codex process of the thread has exited')
  removal.withdraw()
  thread.move(unbound(thread.state()))
  void searches.search()
}

async function handleNews(
  news: readonly ThreadNews[],
  { thread, removal, searches }: RebindDeps,
): Promise<void> {
  let switches = false
  for (const one of news) {
    thread.reported = withNews(thread.reported, one)
    if (one.thread_id !== thread.state().thread_id) switches ||= switchesThread(thread.state(), one)
    else if (thread.route?.live === false) {
      const has_drained = one.event === 'Drain' && thread.state().queued.length > 0
      // At the end of the session a queued doorbell would otherwise run when a person opens the thread again.
      if (one.event === 'SessionEnd' || has_drained) removal.withdraw()
      thread.move(hookReported(thread.state(), one))
    }
  }
  if (switches || thread.state().thread_id === null) await searches.search()
}
