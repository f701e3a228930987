/**
 * A Codex thread as a surface: reports its turns, and rings by putting a message into the thread's own
 * queue, which Codex runs as a turn of its own. Whether a bell is due is the daemon's decision.
 *
 * The thread may be on the persona's own app-server, on the one that a plain `codex` shares, or in a
 * terminal that keeps it to itself. The last is not reached, but its queue is: every app-server of the same
 * CODEX_HOME writes into it. Its turns are told by its hooks.
 */
import { AppServerError, OVERLOADED, type AppServer } from './app-server.ts'
import { bellQueue } from './bell-queue.ts'
import { bellWatch } from './bell-watch.ts'
import { hasDrained, isOf, ThreadAnswer, type Notification, type Thread } from './protocol.ts'
import { goesOver, isPersons, told, type ToldThread, type ToldThreads } from './thread-choice.ts'
import { searchThread, type Found, type Place } from './thread-search.ts'
import { threadWindow, type HasWindow } from './thread-window.ts'
import {
  bellQueued,
  bellSeen,
  bellsGone,
  bound,
  boundByHooks,
  hooked,
  notified,
  pauseLeft,
  queueStarted,
  queueStopped,
  startTracking,
  statusSettled,
  toolsCame,
  turnOf,
  unbound,
  type TrackedThread,
} from './thread-tracker.ts'
import * as z from 'zod'
import { statusReporter } from '../status-reporter.ts'
import { DEFERRED, UNAVAILABLE, pushStatus } from '../surface-words.ts'
import type { ClientProcess, ThreadNews } from '../../src/contracts/codex.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { RingResult } from '../../src/contracts/control.ts'
import type { DoorbellId, Identity, InstanceId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

export interface CodexSurface extends Surface {
  open(host: SurfaceHost): void
  /** An app-server answers: the thread a person works in is looked for. */
  connected(server: AppServer, place?: Place): Promise<void>
  disconnected(place?: Place): void
  notified(notification: Notification, place?: Place): void
  /** The thread that is rung. */
  bound(): string | null
  /** What hooks and tool calls tell of threads that act for this persona. */
  told(news: readonly ThreadNews[]): Promise<void>
  close(): void
}

export interface CodexSurfaceDeps {
  identity: Identity
  clock: Clock
  log: Log
  /** Connects where that was not tried yet, and resolves once `connected` was called or it failed. */
  reach?: (place: Place) => Promise<void>
  /** Whether the process that ran a thread's hooks still lives. */
  alive?: (client: ClientProcess) => boolean
  /** Those who sit at a thread that the daemon keeps; their next turn ends a pause. Absent where others begin it. */
  persons?: { isJoined(): boolean; untilAlone(): Promise<void> }
  /**
   * Whether a person has a window open at this app-server. Absent for an agent that works without one, and where
   * that is not known.
   */
  hasWindow?: HasWindow
  /** The process of an app-server, which runs the turns of its threads. */
  instanceId?: (place: Place) => InstanceId | null
}

export function codexSurface({
  identity,
  clock,
  log,
  reach = () => Promise.resolve(),
  alive = () => true,
  persons,
  hasWindow = () => true,
  instanceId = () => null,
}: CodexSurfaceDeps): CodexSurface {
  const queue = bellQueue(identity, log)
  const servers: Record<Place, AppServer | null> = { own: null, shared: null }
  let threads: ToldThreads = new Map()
  let state = startTracking(clock.now())
  /** Where the bound thread is reached. Without `live` only its queue is. */
  let way: { place: Place; live: boolean } | null = null
  const instance_ids: Record<Place, InstanceId | null> = { own: null, shared: null }
  let settling: Timer | null = null
  /** A search that failed is made again, for a reason that was said. */
  let seekingAgain: Timer | null = null
  let said: string | null = null
  let looking: Timer | null = null
  /** The turns of the bound thread are told, not only its status. */
  let subscribed = false
  let binds = 0
  /** How often an app-server went away. */
  let losses = 0
  let ringing: Promise<unknown> = Promise.resolve()
  let seeking: Promise<void> = Promise.resolve()
  /** What was told since the last search began, of threads that were not bound: newer than what it has read. */
  let heard: { place: Place; notification: Notification }[] = []

  const watch = bellWatch({ queue, clock, log, server: () => reached(), state: () => state, move })
  const window = threadWindow(hasWindow)
  /** Threads that no app-server of ours holds are in a terminal of their own; `leaveDead` follows that. */
  const isShown = () => way === null || !way.live || window.isShown(way.place)

  const status = () => {
    const facts = {
      ...{ ...state, turn: turnOf(state), window: state.thread_id === null || isShown() },
      outstanding_doorbell_id: state.queued.at(-1) ?? null,
      interrupted: state.paused,
      instance_id: runningInstance(),
    }
    return pushStatus('codex', state.thread_id, facts, state.thread_id !== null)
  }
  const reporter = statusReporter(status)
  const { report, reportChange } = reporter

  /** The process that runs the turns of the bound thread: its app-server, or a terminal that keeps it to itself. */
  function runningInstance(): InstanceId | null {
    if (way?.live === true) return instance_ids[way.place]
    const client = state.thread_id === null ? undefined : threads.get(state.thread_id)?.client
    return client === undefined ? null : `${client.pid}:${client.started}`
  }

  const reached = () => (way === null ? null : servers[way.place])

  function move(next: TrackedThread): void {
    const before = state
    state = next
    watch.moved(next)
    if (
      next.turn === 'busy' &&
      next.turn_seq > before.turn_seq &&
      way?.live === true &&
      hasWindow(way.place, 'now')
    )
      window.turnBegan()
    settling?.cancel()
    settling = next.settles ? clock.after(LIMITS.codex_settle_ms, () => move(statusSettled(state))) : null
    if (next.thread_id === null) way = null
    // An interrupt came between the bell and its turn. It would run after the person's next turn, when the
    // daemon rings again: one of the two has to go.
    if (next.paused && !before.paused && next.queued.length > 0) takeBackAnswered()
    if (next.paused && !before.paused) void awaitLeave()
    reportChange()
  }

  /** Without its persons nobody ends a pause. In a thread that is reached elsewhere they are not known. */
  const isKept = () => persons !== undefined && way?.place === 'own' && way.live

  async function awaitLeave(): Promise<void> {
    const { thread_id } = state
    if (!isKept()) return
    await persons?.untilAlone()
    if (state.thread_id === thread_id && isKept()) move(pauseLeft(state))
  }

  // --- which thread

  function bind(thread: Thread, place: Place, how: 'opened' | 'found'): void {
    if (thread.id === state.thread_id && way?.place === place && way.live) return
    log.info({ thread_id: thread.id, place }, 'bound to a thread')
    leaveFor(thread.id)
    binds += 1
    subscribed = false
    way = { place, live: true }
    window.bound(place, how)
    move(bound(state, thread))
    const missed = heard.filter((one) => one.place === place)
    heard = []
    for (const { notification } of missed) move(notified(state, notification, identity))
    if (state.thread_id === null) return void seek()
    subscribe()
    void watch.look()
    void awaitTools(clock.monotonic() + LIMITS.codex_start_ms)
  }

  /** Its MCP servers start with the thread, and are there only a moment after it. */
  async function awaitTools(until_ms: number): Promise<void> {
    const [to, threadId, bind_no] = [reached(), state.thread_id, binds]
    const isBound = () => binds === bind_no && state.thread_id === threadId
    const ask = { threadId, serverName: 'turnbell', detail: 'toolsAndAuthOnly' }
    try {
      // Answered once it has started or failed to.
      await to?.call('mcpServerStatus/list', ask, z.unknown(), LIMITS.codex_start_ms)
    } catch (error) {
      const passes = error instanceof AppServerError && error.code === OVERLOADED
      if (passes && clock.monotonic() < until_ms) {
        clock.after(LIMITS.codex_seek_again_ms, () => {
          if (isBound()) void awaitTools(until_ms)
        })
        return
      }
      if (isBound())
        log.warn(
          { err: error, thread_id: threadId },
          "turnbell's tools are not ready; the thread is rung all the same",
        )
    }
    if (isBound()) move(toolsCame(state))
  }

  function bindQueueOf(thread: ToldThread, place: Place): void {
    if (thread.thread_id === state.thread_id) return
    log.info({ thread_id: thread.thread_id, place }, 'bound to a thread by its hooks and its queue')
    leaveFor(thread.thread_id)
    binds += 1
    way = { place, live: false }
    move(boundByHooks(state, thread))
    void watch.look()
  }

  /** A bell that still stands in the former thread would ring a second time for what the next one is rung for. */
  function leaveFor(thread_id: string): void {
    if (state.thread_id !== thread_id && state.queued.length > 0) takeBackAnswered()
  }

  /** One search at a time; what was bound while it looked is newer than what it found. */
  function seek(): Promise<void> {
    seeking = seeking
      .then(async () => {
        const before = { binds, losses }
        heard = []
        const found = await searchThread({ servers, reach, alive, log }, threads)
        said = null
        if (found === null || binds !== before.binds) return
        const seen = await lastSeen(found)
        if (binds !== before.binds) return
        if (seen !== null) state = bellSeen(state, seen)
        const told = found.kind === 'queue' ? threads.get(found.thread.thread_id) : null
        // Gone while it was looked at: with its app-server, or its session ended.
        if (losses !== before.losses || told === undefined) void seek()
        else if (found.kind === 'live') bind(found.thread, found.place, 'found')
        else if (told !== null) bindQueueOf(told, found.place)
      })
      .catch((error: unknown) => {
        const reason = String(error)
        if (reason === said) log.debug({ err: error }, 'threads could not be looked for')
        else log.warn({ err: error }, 'threads could not be looked for; it is tried again and again')
        said = reason
        seekingAgain?.cancel()
        seekingAgain = clock.after(LIMITS.codex_seek_again_ms, () => void seek())
      })
    return seeking
  }

  /**
   * Without it, the daemon takes a bell for lost whose turn ended while no shim was there. Only a shim that has just begun
   * has to ask.
   */
  async function lastSeen({ kind, thread, place }: Found): Promise<DoorbellId | null> {
    const to = servers[place]
    if (to === null || state.seen_doorbell_id !== null) return null
    const thread_id = kind === 'live' ? thread.id : thread.thread_id
    try {
      return await queue.lastSeen(to, thread_id)
    } catch (error) {
      log.debug({ err: error, thread_id }, 'the last doorbell of the thread could not be read')
      return null
    }
  }

  /** A window has opened an earlier thread. */
  async function followTo(threadId: string): Promise<void> {
    const to = servers.own
    const { thread_id: before } = state
    try {
      const { thread } = (await to?.call('thread/read', { threadId }, ThreadAnswer)) ?? {}
      if (thread === undefined || !isPersons(thread)) return
      if (servers.own === to && state.thread_id === before) bind(thread, 'own', 'opened')
    } catch (error) {
      log.debug({ err: error, thread_id: threadId }, 'the thread that was opened could not be read')
    }
  }

  /**
   * A client that subscribed is told of turns and messages, others only of the status. A thread in which
   * nothing was said yet cannot be subscribed to: it is tried again when its first turn begins and ends. What
   * was said meanwhile is read afterwards.
   */
  function subscribe(): void {
    const [to, threadId] = [reached(), state.thread_id]
    if (to === null || threadId === null || subscribed || way?.live !== true) return
    window.opening()
    to.call('thread/resume', { threadId, excludeTurns: true }, z.unknown()).then(
      () => {
        if (reached() !== to || state.thread_id !== threadId || subscribed) return
        subscribed = true
        if (state.queued.length > 0) void watch.look()
      },
      (error: unknown) => log.debug({ err: error, thread_id: threadId }, 'not subscribed to the thread yet'),
    )
  }

  /** Its terminal was killed: no hook tells of that. */
  function leaveDead(): void {
    const { thread_id } = state
    const client = thread_id === null || way?.live !== false ? undefined : threads.get(thread_id)?.client
    if (client === undefined || alive(client)) return
    log.info({ thread_id, client_pid: client.pid }, 'the Codex of the thread is gone')
    takeBackAnswered()
    move(unbound(state))
    void seek()
  }

  // --- the bell

  /** Looks at what nobody reports: a client that was killed, a window that was closed or opened. */
  function lookAround(): void {
    leaveDead()
    reportChange()
  }

  /** One at a time: the daemon may ask again before a slow app-server has answered. */
  async function ring(doorbell: Doorbell): Promise<RingResult> {
    lookAround()
    const [to, threadId] = [reached(), state.thread_id]
    if (to === null || threadId === null || !isShown()) return UNAVAILABLE
    const rests = () => turnOf(state) === 'idle' && !state.paused && state.thread_id === threadId
    if (!rests()) return DEFERRED
    try {
      if (state.queued.length > 0) await watch.look()
      const taken_back = await takeBack(to, threadId)
      if (!rests()) return DEFERRED
      // Codex has taken it from the queue, and its turn may be about to begin.
      if (state.queued.length > 0) return DEFERRED
      // Paused before this process or its connection began.
      if (taken_back.length > 0 && isKept() && persons?.isJoined() === false) state = queueStopped(state)
      move(bellQueued(state, doorbell.doorbell_id))
      await queue.add(to, threadId, doorbell)
      if (state.stopped && rests()) {
        await queue.start(to, threadId)
        move(queueStarted(state))
      }
      if (state.seen_doorbell_id === doorbell.doorbell_id) return { accepted: true, proof: 'confirmed' }
      if (!state.paused && state.thread_id === threadId) return { accepted: true, proof: 'sent' }
      // An interrupt, or another thread, looked for it before it stood there.
      await takeBack(to, threadId)
      return DEFERRED
    } catch (error) {
      log.warn({ err: error }, 'the queue took no bell')
      return reached() === to ? { accepted: false, proof: 'failed' } : UNAVAILABLE
    }
  }

  async function takeBack(to: AppServer, threadId: string): Promise<DoorbellId[]> {
    const deleted = await queue.takeBack(to, threadId)
    if (state.thread_id === threadId) move(bellsGone(state, deleted))
    return deleted
  }

  function takeBackAnswered(): void {
    const [to, threadId] = [reached(), state.thread_id]
    if (to === null || threadId === null) return
    takeBack(to, threadId).catch((error: unknown) =>
      log.warn({ err: error }, 'a bell could not be taken back'),
    )
  }

  return {
    async status() {
      if (state.queued.length > 0) await watch.look()
      return status()
    },

    notify_surface(doorbell): Promise<RingResult> {
      const rung = ringing.then(() => ring(doorbell))
      ringing = rung.catch(() => undefined)
      return rung
    },

    async resume_surface() {
      // What it is bound to may be what somebody knows to be wrong.
      state = unbound(state)
      way = null
      await seek()
      report()
    },

    open(daemon) {
      reporter.open(daemon)
      looking = clock.every(LIMITS.codex_alive_look_ms, lookAround)
    },

    async connected(to, place = 'own') {
      servers[place] = to
      instance_ids[place] = instanceId(place)
      await seek()
      report()
    },

    disconnected(place = 'own') {
      servers[place] = null
      losses += 1
      if (way?.place !== place) return
      move(unbound(state))
      if (threads.size > 0) void seek()
    },

    notified(notification, place = 'own') {
      // Not ours to ring yet: what it holds is looked for once it is `connected`.
      if (servers[place] === null) return
      if (notification.method === 'thread/started') {
        const { thread } = notification.params
        if (isPersons(thread) && (place === 'own' || thread.id === state.thread_id))
          bind(thread, place, 'opened')
        return
      }
      if (notification.method === 'thread/goal/cleared' || notification.method === 'thread/goal/updated') {
        const { threadId } = notification.params
        if (threadId !== state.thread_id) {
          if (place === 'own' && notification.method === 'thread/goal/cleared') void followTo(threadId)
        } else if (window.opened(place)) reportChange()
        return
      }
      if (way?.place !== place || !way.live || !isOf(state.thread_id, notification)) {
        if (notification.method === 'thread/status/changed' || notification.method === 'thread/closed')
          heard = [...heard, { place, notification }].slice(-LIMITS.codex_heard_max)
        return
      }
      // What is not taken yet would greet whoever opens the thread again.
      if (notification.method === 'thread/closed' && state.queued.length > 0) takeBackAnswered()
      move(notified(state, notification, identity))
      if (notification.method === 'thread/status/changed') subscribe()
      if (hasDrained(notification)) {
        move(toolsCame(state))
        if (state.queued.length > 0) takeBackAnswered()
      }
      if (state.thread_id === null) void seek()
    },

    bound: () => state.thread_id,

    async told(news) {
      let over = false
      for (const one of news) {
        threads = told(threads, one)
        if (one.thread_id === state.thread_id) {
          if (way?.live === false) toldByHook(one)
        } else over ||= goesOver(state, one)
      }
      if (over || state.thread_id === null) await seek()
    },

    close() {
      settling?.cancel()
      seekingAgain?.cancel()
      looking?.cancel()
      reporter.close()
    },
  }

  function toldByHook(news: ThreadNews): void {
    // Its process ends: what it did not take would greet whoever opens the thread again.
    if (news.event === 'SessionEnd' || (news.event === 'Drain' && state.queued.length > 0)) takeBackAnswered()
    move(hooked(state, news))
  }
}
