/**
 * One function per event: returns the change to the context and the requested effects. Pure. `machine.ts`
 * defines which step runs in which state.
 */
import type { NotifyResult } from '../contracts/control.ts'
import { doorbellText } from '../contracts/doorbell.ts'
import type { PendingEntry } from '../contracts/frames.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { DaemonErrorClass } from '../contracts/metrics.ts'
import { reconnectDelay } from './link/backoff.ts'
import type { Context } from './context.ts'
import type { DaemonEvent, Effect, EventOf } from './events.ts'
import { deliveryReasonOf, factsOf, forgetBell, type BellName, type History } from './history.ts'
import { chooseSignal, decide, isIgnored, isOutstanding, rung } from './pacer.ts'
import { checkLimit, hasRingable, indexCheck } from './queue/pending-index.ts'
import * as queue from './queue/queue-changes.ts'
import * as reconcile from './reconcile.ts'
import * as surface from './surface-changes.ts'

export interface Outcome {
  change?: Partial<Context>
  effects?: Effect[]
}
export type Step<T extends DaemonEvent['type'] = DaemonEvent['type']> = (
  context: Context,
  event: EventOf<T>,
) => Outcome

// --- link -----------------------------------------------------------------------------------

export const startAttempt: Step = ({ link }) => ({
  change: { link: { ...link, retry_at: null } },
  effects: [{ type: 'connect' }],
})

/** Failures while the hub was away do not count. A running attempt is not cancelled. */
export const onHubBack: Step<'HUB_BACK'> = ({ link: { retry_at } }, { now, random }) => {
  const soon = now + Math.round(random * LIMITS.reconnect_spread_ms)
  return { change: { link: { failures: 0, retry_at: retry_at === null ? null : Math.min(retry_at, soon) } } }
}

export const onLinkLost: Step<'LINK_LOST'> = (context, event) =>
  toDisconnected(context, event, { error_class: event.error_class, detail: event.detail })

/** The list did not arrive in time, or the hub refused it. */
export const onReconcileFailed: Step<'PEEK_REFUSED' | 'TIME_PASSED'> = (context, event) => {
  const detail =
    event.type === 'PEEK_REFUSED'
      ? event.detail
      : `no pending list from the hub within ${LIMITS.reconcile_timeout_ms} ms`
  return withCloseLink(toDisconnected(context, event, { error_class: 'pending_reconcile_failed', detail }))
}

/** A hub that does not respond to one short request counts as disconnected. */
export const onCheckFailed: Step<'PEEK_REFUSED' | 'TIME_PASSED'> = (context, event) => {
  const detail =
    event.type === 'PEEK_REFUSED'
      ? event.detail
      : `no response to the check before a doorbell within ${LIMITS.emit_check_ms} ms`
  return withCloseLink(toDisconnected(context, event, { error_class: 'ws_stream_stalled', detail }))
}

function toDisconnected(
  context: Context,
  { now, random }: { now: number; random: number },
  error: { error_class: DaemonErrorClass; detail: string },
): Outcome {
  const { failures } = context.link
  return {
    change: {
      history: queue.applyDisconnect(context.history),
      link: { failures: failures + 1, retry_at: now + reconnectDelay(failures, random) },
      reconcile: null,
      check: null,
      take: null,
    },
    effects: [
      { type: 'countError', params: error },
      ...answerEmpty(context.take),
      // Losing a working link is a severe transition; repeated failures of an absent hub are not.
      ...(context.history.reconciled ? [{ type: 'publishMetrics' } as const] : []),
    ],
  }
}

function withCloseLink({ change, effects = [] }: Outcome): Outcome {
  return { ...(change && { change }), effects: [{ type: 'closeLink' }, ...effects] }
}

// --- reconcile ------------------------------------------------------------------------------

export const requestList: Step = ({ peeks }, { now }) => {
  const peek_id = `reconcile-${peeks + 1}`
  const by = now + LIMITS.reconcile_timeout_ms
  return {
    change: {
      peeks: peeks + 1,
      reconcile: { peek_id, by, interim: reconcile.NO_INTERIM_CHANGES, active: false },
    },
    effects: [{ type: 'peek', params: { peek_id, limit: LIMITS.pending_index_max } }],
  }
}

export const onListReceived: Step<'PENDING_LISTED'> = (context, event) => {
  if (context.reconcile === null) return {}
  const { interim, active } = context.reconcile
  const before = dropFulfilledRequest(context.history, event)
  const { bell } = before
  const pending = reconcile.merge(event, interim)
  const answered = bell !== null && reconcile.drainedWhileDisconnected(bell.signal_id, event, interim)
  return {
    change: {
      history: queue.applyListing(before, { pending, active, answered }, event.now),
      link: { failures: 0, retry_at: null },
      reconcile: null,
      ...withLastReceived(context, pending.entries, event.now),
      // The time of the drain is unknown; it happened while the link was down.
      ...(answered && { last_drain_at: event.now }),
    },
  }
}

export const onPushedWhileReconciling: Step<'SIGNAL_PUSHED'> = (context, { entry }) =>
  updateInterim(context, (before) => reconcile.interimPush(before, entry))

export const onDrainedWhileReconciling: Step<'SIGNALS_DRAINED'> = (context, event) => {
  const { signal_ids, session_id, now } = event
  const { change } = updateInterim(context, (before) => reconcile.interimDrain(before, signal_ids))
  const before = dropFulfilledRequest(context.history, event)
  if (!queue.isOwnDrain(before, session_id))
    return { change: { ...change, history: before, last_drain_at: now } }
  const after = { ...forgetBell(before), ...queue.resetAfterDrain(before) }
  // The agent is awake, so the rest is not a backlog that waits for activity.
  const running = change.reconcile && { ...change.reconcile, active: true }
  return { change: { reconcile: running, history: after, last_drain_at: now } }
}

export const onReleasedWhileReconciling: Step<'SIGNALS_RELEASED'> = (context, { signal_ids }) =>
  updateInterim(context, (before) => reconcile.interimRelease(before, signal_ids))

export const onGoneWhileReconciling: Step<'SIGNALS_GONE'> = (context, event) => {
  const { change } = updateInterim(context, (before) => reconcile.interimDrain(before, event.signal_ids))
  return { change: { ...change, history: dropFulfilledRequest(context.history, event) } }
}

/** Updates `last_received` if an entry is newer. Signal ids are ascending. */
function withLastReceived(
  { last_received }: Context,
  entries: readonly PendingEntry[],
  now: number,
): Partial<Context> {
  const newest = entries.reduce<PendingEntry | null>(
    (best, entry) => (best === null || entry.signal_id > best.signal_id ? entry : best),
    null,
  )
  if (newest === null || newest.signal_id <= (last_received?.signal_id ?? '')) return {}
  const { signal_id, from, intent } = newest
  return { last_received: { signal_id, from, intent, at: now } }
}

/** Clears the manual request when no signals are pending: it was for the signals pending at that time. */
function dropFulfilledRequest(before: History, { total }: { total: number }): History {
  return { ...before, manual: before.manual && total > 0 }
}

function updateInterim(
  context: Context,
  next: (interim: reconcile.InterimChanges) => reconcile.InterimChanges,
): { change: Pick<Context, 'reconcile'> } {
  const running = context.reconcile
  return { change: { reconcile: running && { ...running, interim: next(running.interim) } } }
}

// --- the queue, while reconciled --------------------------------------------------------------

export const onPushed: Step<'SIGNAL_PUSHED'> = (context, { entry, total, now }) => {
  const after = queue.applyPush(context.history, entry, total)
  const absent = !after.surface.attached && !context.absence_counted && hasRingable(after.pending)
  const change = { history: after, ...withLastReceived(context, [entry], now) }
  return absent ? countAbsence(change) : { change }
}

export const onDrained: Step<'SIGNALS_DRAINED'> = (context, { signal_ids, session_id, total, now }) => {
  const drain = queue.isOwnDrain(context.history, session_id) ? queue.applyDrain : queue.applyForeignDrain
  return { change: { history: drain(context.history, signal_ids, total), last_drain_at: now } }
}

export const onReleased: Step<'SIGNALS_RELEASED'> = (context, { total, now }) => ({
  change: { history: queue.applyRelease(context.history, total, now) },
})

export const onGone: Step<'SIGNALS_GONE'> = (context, { signal_ids, total }) => ({
  change: { history: queue.applyRemoval(context.history, signal_ids, total) },
})

// --- the surface ------------------------------------------------------------------------------

/** Handles a report in a state where no doorbell can be sent: the response is empty. */
export const onReportWhileUnlinked: Step<'SURFACE_REPORTED'> = (context, event) => {
  const { change, active: now_active, effects } = handleReport(context, event)
  const after = { ...change.history, take: false }
  const running = context.reconcile
  const active = running !== null && (running.active || now_active)
  return {
    change: { ...change, history: after, reconcile: running && { ...running, active }, take: null },
    effects: [...effects, { type: 'answerReport', params: { request: event.request } }],
  }
}

/** Handles a report whose response may carry a doorbell: it waits for the decision. */
export const onReport: Step<'SURFACE_REPORTED'> = (context, event) => {
  const { change, effects } = handleReport(context, event)
  const { request, now, report } = event
  if (report.take !== true) {
    const answer: Effect = { type: 'answerReport', params: { request } }
    return { change: { ...change, take: null }, effects: [...effects, answer] }
  }
  return { change: { ...change, take: { request, by: now + LIMITS.take_answer_ms } }, effects }
}

function handleReport(context: Context, { report, same_shim, now }: EventOf<'SURFACE_REPORTED'>) {
  const before = context.history
  const {
    history: after,
    active,
    seen,
    was_refused,
  } = surface.applyReport(before, { report, same_shim }, now)
  const again = repeatCheckForNewSession(context, after, now)
  const effects = [
    ...answerEmpty(context.take),
    ...publishIfChanged(before, after),
    // The surface had refused the doorbell, but it was rung.
    ...(was_refused ? reportStage(seen, 'accepted') : []),
    ...reportStage(seen, 'seen'),
    ...again.effects,
  ]
  const doorbells_rung = context.doorbells_rung + (was_refused ? 1 : 0)
  return {
    active,
    change: { ...again.change, history: after, absence_counted: false, doorbells_rung },
    effects,
  }
}

/** The last check was for another session than the one that is now attached. */
function repeatCheckForNewSession(context: Context, after: History, now: number): Required<Outcome> {
  const same = context.history.surface.session_id === after.surface.session_id
  return context.check === null || same ? { change: {}, effects: [] } : requestCheck(context, after, now)
}

export const onSurfaceLost: Step<'SURFACE_LOST'> = (context) => {
  if (!context.history.surface.attached) return {}
  const after = surface.applySurfaceLost(context.history)
  const { change, effects = [] } = countAbsence({ history: after, take: null })
  return {
    change: change ?? {},
    effects: [...answerEmpty(context.take), ...effects, { type: 'publishFacts' }],
  }
}

/** Counts each absence once. */
function countAbsence(change: Partial<Context>): Outcome {
  const detail = 'no surface is attached'
  return {
    change: { ...change, absence_counted: true },
    effects: [
      { type: 'countError', params: { error_class: 'surface_unavailable', detail } },
      { type: 'publishMetrics' },
    ],
  }
}

export const onNeverAttached: Step = () => countAbsence({})

export const onReportAbandoned: Step<'REPORT_ABANDONED'> = ({ take, history: before }, { request }) =>
  take?.request === request ? { change: { take: null, history: { ...before, take: false } } } : {}

/** Answers the waiting report without a doorbell. */
export const answerWaitingReport: Step = ({ take, history: before }) => ({
  change: { take: null, history: { ...before, take: false } },
  effects: answerEmpty(take),
})

/** The agent's surface was restarted by hand. Its queue is lost, and its return is not counted as an error. */
export const onResumeRequested: Step<'RESUME_REQUESTED'> = (context) => {
  const before = context.history
  const after = surface.applyResume(before)
  return {
    change: { history: after, take: null },
    effects: [...answerEmpty(context.take), { type: 'resumeSurface' }, ...publishIfChanged(before, after)],
  }
}

// --- bells ------------------------------------------------------------------------------------

/**
 * Another client may have drained since the last frame, so the hub is queried once more before a doorbell is
 * sent.
 */
export const startCheck: Step = (context, { now }) => requestCheck(context, context.history, now)

function requestCheck({ peeks }: Context, history: History, now: number): Required<Outcome> {
  const peek_id = `check-${peeks + 1}`
  const limit = checkLimit(history.pending, chooseSignal(history))
  return {
    change: { peeks: peeks + 1, check: { peek_id, limit, by: now + LIMITS.emit_check_ms } },
    effects: [{ type: 'peek', params: { peek_id, limit } }],
  }
}

/** Sends the doorbell. No other step does. */
export const emit: Step<'PENDING_LISTED'> = (context, event) => {
  const { check, take, identity } = context
  if (check === null) return {}
  const pending = indexCheck(context.history.pending, event, check.limit)
  // Signals found by the check are new for the next doorbell; their push will not report them again.
  const fresh = context.history.fresh || queue.hasNews(context.history, pending)
  const before = { ...context.history, pending, fresh }
  // The index was out of date. The whole list is checked before a doorbell names one signal and covers the
  // rest.
  if (!pending.settled) return { change: { check: null, history: before } }
  const decision = decide(before, event.now)
  const entry = chooseSignal(before)
  if (decision.kind !== 'ring' || entry === undefined) {
    return {
      change: { check: null, take: null, history: { ...before, take: false } },
      effects: answerEmpty(take),
    }
  }
  const { doorbell_id } = event
  const { signal_id, from, intent, priority } = entry
  const bell = {
    doorbell_id,
    identity,
    pending_count: pending.total,
    signal_id,
    from,
    intent,
    priority,
    reason: decision.reason,
  }
  const doorbell = { ...bell, text: doorbellText(bell) }
  const after = rung(before, entry, doorbell_id, event.now)
  return {
    change: {
      check: null,
      take: null,
      history: after,
      // A doorbell in the response to a report counts as rung when it is written.
      doorbells_rung: context.doorbells_rung + (take === null ? 0 : 1),
    },
    effects: [
      { type: 'ring', params: { doorbell, request: take?.request ?? null } },
      ...reportStage(after.bell, 'requested'),
      ...(take === null ? [] : reportStage(after.bell, 'accepted')),
    ],
  }
}

/** Another doorbell is due while the surface may still hold the last one. */
export const startProbe: Step = (context) => {
  const probe_id = `probe-${context.probes + 1}`
  return {
    change: { probes: context.probes + 1, history: { ...context.history, probe_id } },
    effects: [{ type: 'probe', params: { probe_id } }],
  }
}

export const onProbed: Step<'SURFACE_PROBED'> = ({ history: before }, { probe_id, holds, now }) => ({
  change: { history: surface.applyProbe(before, probe_id, holds, now) },
})

export const onBellAnswered: Step<'BELL_ANSWERED'> = (context, event) => {
  const { doorbell_id, signal_id, accepted, proof } = event
  const bell = { doorbell_id, signal_id }
  const {
    history: after,
    taken,
    seen,
  } = surface.applyBellAnswer(context.history, bell, accepted, proof, event.now)
  const effects: Effect[] = []
  if (taken) effects.push(...reportStage(bell, 'accepted'))
  if (seen) effects.push(...reportStage(bell, 'seen'))
  if (!taken && proof !== 'deferred') {
    const detail = `the surface reported ${proof} for the doorbell`
    effects.push({ type: 'countError', params: { error_class: 'surface_inject_failed', detail } })
  }
  const doorbells_rung = context.doorbells_rung + (taken ? 1 : 0)
  return { change: { history: after, doorbells_rung }, effects }
}

export const onNotifyWhileUnlinked: Step<'NOTIFY_REQUESTED'> = (_, { request }) =>
  answerNotify(request, { accepted: false, reason: 'not_connected' })

export const onNotify: Step<'NOTIFY_REQUESTED'> = (context, { request, now }) => {
  const before = context.history
  const { surface, pending } = before
  if (pending.total === 0) return answerNotify(request, { accepted: false, reason: 'nothing_pending' })
  if (!surface.attached) return answerNotify(request, { accepted: false, reason: 'surface_absent' })
  if (isOutstanding(before, now)) return answerNotify(request, { accepted: false, reason: 'already_rung' })
  const rings_now = surface.turn === 'idle' && surface.delivery === 'push'
  const result: NotifyResult = rings_now ? { accepted: true } : { accepted: true, reason: 'mid_turn' }
  return { change: { history: { ...before, manual: true } }, ...answerNotify(request, result) }
}

function answerNotify(request: number, result: NotifyResult): Outcome {
  return { effects: [{ type: 'answerNotify', params: { request, result } }] }
}

// --- shared -----------------------------------------------------------------------------------

/** Updates the derived fields after every step: `ignored`, `manual` and the delivery reason. */
export function updateDerived(context: Context): Context {
  const { history: now, now: at } = context
  const ignored = now.ignored || isIgnored(now, at)
  const manual = now.manual && now.pending.total > 0
  const same = ignored === now.ignored && manual === now.manual
  const history = same ? now : { ...now, ignored, manual }
  const reason = deliveryReasonOf(history, at)
  const delivery = reason === context.delivery.reason ? context.delivery : { reason, since: at }
  return same && delivery === context.delivery ? context : { ...context, history, delivery }
}

function answerEmpty(take: Context['take']): Effect[] {
  return take === null ? [] : [{ type: 'answerReport', params: { request: take.request } }]
}

function reportStage(bell: BellName | null, stage: 'requested' | 'accepted' | 'seen'): Effect[] {
  if (bell === null) return []
  const { doorbell_id, signal_id } = bell
  return [{ type: 'reportDoorbell', params: { doorbell_id, signal_id, stage } }]
}

function publishIfChanged(before: History, after: History): Effect[] {
  const [a, b] = [factsOf(before), factsOf(after)]
  const same =
    a.attached === b.attached &&
    a.session_id === b.session_id &&
    a.turn === b.turn &&
    a.turn_seq === b.turn_seq &&
    a.instance_id === b.instance_id &&
    a.window === b.window
  return same ? [] : [{ type: 'publishFacts' }]
}
