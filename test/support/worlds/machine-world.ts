/**
 * The daemon's state machine between a simulated hub and a simulated surface, without timers or sockets. Requests are
 * answered at once unless a test delays them; every doorbell is checked when it is sent.
 */
import { SurfaceReport, type DeliveryReason, type Proof } from '../../../src/contracts/control.ts'
import type { Doorbell } from '../../../src/contracts/doorbell.ts'
import type { PendingEntry } from '../../../src/contracts/frames.ts'
import { nextDeadline, start, stateOf, step } from '../../../src/daemon/machine.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { createStateKeeper, type SavedState } from '../../../src/daemon/saved-state.ts'
import type { DaemonEvent, Effect } from '../../../src/daemon/events.ts'
import { deliveryReasonOf, type PacerRules } from '../../../src/daemon/history.ts'

export const RULES: PacerRules = {
  reconnect_ring: 'boundary',
  reconnect_grace_ms: 15_000,
  reconnect_patience_ms: 300_000,
  bell_receipt_ms: 10_000,
  redoorbell_max: 3,
  receipts: true,
  headless: false,
}

type Change = { [K in keyof SurfaceReport]?: SurfaceReport[K] | undefined }
type News = DaemonEvent extends infer E ? (E extends unknown ? Omit<E, 'now'> : never) : never

/** Returns a ULID that contains a counter. */
export function countedId(prefix: string, n: number): string {
  return `01${prefix}${String(n).padStart(24 - prefix.length, '0')}`
}

export interface Left {
  memory: SavedState | null
  report: SurfaceReport
  queue: readonly PendingEntry[]
}

/** `left` is the remaining state of an earlier world: the daemon's state, the surface and the queue. */
export function machineWorld(rules: Partial<PacerRules> = {}, left?: Left) {
  let now = 0
  let snapshot = start({
    identity: 'ada',
    surface: 'claude-code',
    rules: { ...RULES, ...rules },
    now,
    saved_state: left?.memory ?? null,
  })
  let ids = 0
  let requests = 0
  let report: SurfaceReport = left?.report ?? {
    surface: 'claude-code',
    session_id: 'session-1',
    delivery: 'push',
    turn: 'idle',
    turn_seq: 0,
  }
  /** Waiting signals at the hub, in its order. */
  let queue: PendingEntry[] = [...(left?.queue ?? [])]
  let seq = Math.max(0, ...queue.map((entry) => entry.seq))
  const peeks: { peek_id: string; limit: number }[] = []
  const world = {
    effects: [] as Effect[],
    bells: [] as { doorbell: Doorbell; taken: boolean; at: number }[],
    /** Response to each report, by request. */
    answers: new Map<number, Doorbell | null>(),
    notified: [] as Extract<Effect, { type: 'answerNotify' }>['params']['result'][],
    errors: [] as string[],
    /** Set to false to delay the responses to peeks. */
    hubAnswers: true,
    /** Response to whether the surface holds a doorbell; `null` never responds, `late` only after `probeAnswers`. */
    surfaceHolds: false as boolean | null | 'late',
    probes: [] as string[],
    /** Response of the surface to a doorbell; null delays it. */
    surfaceAnswers: { accepted: true, proof: 'sent' } as { accepted: boolean; proof: Proof } | null,

    get now() {
      return now
    },
    get state() {
      return stateOf(snapshot)
    },
    get context() {
      return snapshot.context
    },
    get delivery(): 'ok' | 'degraded' {
      return world.delivery_reason === null ? 'ok' : 'degraded'
    },
    get delivery_reason(): DeliveryReason | null {
      return deliveryReasonOf(snapshot.context.history, now)
    },
    get queue() {
      return queue
    },
    get report() {
      return report
    },
    /** Ends the daemon. Returns its stored state, read `later_ms` later by a daemon whose clock starts at 0. */
    ends(later_ms = 0): Left {
      let text = null as string | null
      const file = { read: () => text, write: (given: string) => void (text = given) }
      const throws = (error: unknown) => {
        throw error
      }
      createStateKeeper(file, { now: () => 1_000_000 + now, monotonic: () => now }, throws).save(
        snapshot.context,
      )
      const later = { now: () => 1_000_000 + now + later_ms, monotonic: () => 0 }
      return { memory: createStateKeeper(file, later, throws).read(), report, queue }
    },
    get deadline() {
      return nextDeadline(snapshot)
    },

    tell(news: News): Effect[] {
      const before = stateOf(snapshot)
      const [next, effects] = step(snapshot, { ...news, now })
      snapshot = next
      world.effects.push(...effects)
      for (const effect of effects) perform(effect, before)
      return effects
    },

    // --- the link
    connects() {
      if (world.state === 'DISCONNECTED' && world.context.link.retry_at !== null) {
        world.pass(Math.max(0, world.context.link.retry_at - now))
      }
      world.tell({ type: 'LINK_UP' })
    },
    linkLost() {
      peeks.length = 0
      world.tell({ type: 'LINK_LOST', error_class: 'ws_stream_stalled', detail: 'cut', random: 0 })
    },
    /** Answers the oldest delayed peek. */
    hubAnswersNow() {
      const peek = peeks.shift()
      if (peek) answerPeek(peek)
    },

    // --- the hub's queue
    accepts(priority = 3): PendingEntry {
      seq += 1
      const signal_id = countedId('S', seq)
      const entry = { signal_id, seq, from: 'bob', intent: 'task', priority }
      queue = [...queue, entry].sort((a, b) => b.priority - a.priority || a.seq - b.seq)
      return entry
    },
    /** Accepts a signal and pushes it. */
    pushes(priority = 3): PendingEntry {
      const entry = world.accepts(priority)
      world.tell({ type: 'SIGNAL_PUSHED', entry, total: queue.length })
      return entry
    },
    repeatsPush(entry: PendingEntry) {
      world.tell({ type: 'SIGNAL_PUSHED', entry, total: queue.length })
    },
    /** Removes signals from the queue without notifying this daemon. */
    losesSilently(count = Infinity) {
      queue = queue.slice(Math.min(count, queue.length))
    },
    /** The agent drains, or another client of that session. */
    drains(count = Infinity, session_id = report.session_id ?? 'unknown'): PendingEntry[] {
      const taken = queue.slice(0, count)
      queue = queue.slice(taken.length)
      const signal_ids = taken.map(({ signal_id }) => signal_id)
      if (taken.length > 0) {
        world.tell({ type: 'SIGNALS_DRAINED', signal_ids, session_id, total: queue.length })
      }
      return taken
    },
    /** Returns drained signals to the queue without notifying this daemon. */
    takesBack(taken: readonly PendingEntry[]) {
      queue = [...queue, ...taken].sort((a, b) => b.priority - a.priority || a.seq - b.seq)
    },
    releases(taken: readonly PendingEntry[]) {
      world.takesBack(taken)
      const signal_ids = taken.map(({ signal_id }) => signal_id)
      world.tell({ type: 'SIGNALS_RELEASED', signal_ids, total: queue.length })
    },

    /** Removes the oldest signals of the highest priority: they expire, or the operator finishes them. */
    expires(count = Infinity) {
      const signal_ids = queue.slice(0, count).map(({ signal_id }) => signal_id)
      queue = queue.slice(signal_ids.length)
      world.tell({ type: 'SIGNALS_GONE', signal_ids, total: queue.length })
    },

    // --- the surface
    reports(change: Change = {}, same_shim = true): Doorbell | null | undefined {
      const { take: _, seen_doorbell_id: __, outstanding_doorbell_id: ___, ...standing } = report
      report = SurfaceReport.parse({ ...standing, ...change })
      const request = ++requests
      world.tell({ type: 'SURFACE_REPORTED', report, same_shim, request })
      return world.answers.get(request)
    },
    turnBegins(seen = false) {
      const bell = world.bells.at(-1)
      const receipt = seen && bell ? { seen_doorbell_id: bell.doorbell.doorbell_id } : {}
      world.reports({ turn: 'busy', turn_seq: report.turn_seq + 1, ...receipt })
    },
    turnEnds() {
      world.reports({ turn: 'idle' })
    },
    /**
     * A turn begins with the last doorbell and ends without a drain; then the next reminder is sent, if there is one.
     */
    ignoresTurn() {
      const before = world.bells.length
      world.turnBegins(true)
      world.turnEnds()
      world.passUntilBell(Math.max(...LIMITS.reminders_ms), before)
    },
    /** Ends a turn at which the surface requests a doorbell. */
    turnEndsAsking(): Doorbell | null | undefined {
      return world.reports({ turn: 'idle', take: true })
    },
    /** Answers the last probe: the status arrives first, as a report. */
    probeAnswers(holds: boolean | null) {
      const probe_id = world.probes.at(-1) ?? ''
      const held = world.bells.at(-1)?.doorbell.doorbell_id
      if (holds !== null) world.reports(holds && held !== undefined ? { outstanding_doorbell_id: held } : {})
      world.tell({ type: 'SURFACE_PROBED', probe_id, holds })
    },
    surfaceLeaves() {
      world.tell({ type: 'SURFACE_LOST' })
    },
    notify() {
      world.tell({ type: 'NOTIFY_REQUESTED', request: ++requests })
      return world.notified.at(-1)
    },

    /** Advances time; the machine runs at each of its deadlines. */
    pass(ms: number) {
      const until = now + ms
      for (let at = world.deadline; at !== null && at <= until; at = world.deadline) performAtDeadline(at)
      now = until
    },
    /** Advances time until more doorbells than `rung` were sent, at most `ms`. */
    passUntilBell(ms: number, rung?: number) {
      const until = now + ms
      const before = rung ?? world.bells.length
      if (world.bells.length > before) return
      for (let at = world.deadline; at !== null && at <= until; at = world.deadline) {
        performAtDeadline(at)
        if (world.bells.length > before) return
      }
      now = until
    },
  }

  function performAtDeadline(at: number): void {
    now = Math.max(now, at)
    world.tell({ type: 'TIME_PASSED', random: 0.5 })
  }

  function perform(effect: Effect, before: string): void {
    switch (effect.type) {
      case 'peek':
        peeks.push(effect.params)
        if (world.hubAnswers) world.hubAnswersNow()
        return
      case 'ring': {
        const { doorbell, request } = effect.params
        check(doorbell, request !== null, before)
        world.bells.push({ doorbell, taken: request !== null, at: now })
        if (request !== null) world.answers.set(request, doorbell)
        else if (world.surfaceAnswers) {
          const { doorbell_id, signal_id } = doorbell
          world.tell({ type: 'BELL_ANSWERED', doorbell_id, signal_id, ...world.surfaceAnswers })
        }
        return
      }
      case 'probe':
        world.probes.push(effect.params.probe_id)
        if (world.surfaceHolds !== 'late') world.probeAnswers(world.surfaceHolds)
        return
      case 'answerReport':
        if (world.answers.has(effect.params.request)) throw new Error('a report was answered twice')
        world.answers.set(effect.params.request, null)
        return
      case 'answerNotify':
        world.notified.push(effect.params.result)
        return
      case 'countError':
        world.errors.push(effect.params.error_class)
        return
      default:
    }
  }

  /** Checks the invariants of every doorbell. */
  function check(doorbell: Doorbell, taken: boolean, before: string): void {
    if (before !== 'EMITTING') throw new Error(`a bell left in ${before}`)
    if (doorbell.pending_count < 1) throw new Error('a bell with nothing pending')
    if (!queue.some(({ signal_id }) => signal_id === doorbell.signal_id)) {
      throw new Error('a bell names a signal that does not wait')
    }
    if (report.outstanding_doorbell_id !== undefined) throw new Error('a bell while another is outstanding')
    if (!taken && report.turn === 'busy') throw new Error('a bell rang into a turn')
  }

  function answerPeek({ peek_id, limit }: { peek_id: string; limit: number }): void {
    const doorbell_id = countedId('B', ++ids)
    const signals = queue.slice(0, limit)
    world.tell({ type: 'PENDING_LISTED', peek_id, signals, total: queue.length, as_of_seq: seq, doorbell_id })
  }

  return world
}

export type MachineWorld = ReturnType<typeof machineWorld>

/** Returns a connected, reconciled world with an idle surface attached. */
export function readyWorld(rules: Partial<PacerRules> = {}): MachineWorld {
  const world = machineWorld(rules)
  world.connects()
  world.reports()
  return world
}
