/**
 * What each event does: the next context and the effects it asks for. Pure; `machine.ts` says in which
 * state which step is taken.
 */
import type { NotifyResult } from '../contracts/control.ts'
import { doorbellText } from '../contracts/doorbell.ts'
import type { PendingEntry } from '../contracts/frames.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { DaemonErrorClass } from '../contracts/metrics.ts'
import { reconnectDelay } from './backoff.ts'
import type { Context } from './context.ts'
import type { DaemonEvent, Effect, EventOf } from './events.ts'
import { deliveryReasonOf, factsOf, forgetBell, type BellName, type History } from './history.ts'
import { chooseSignal, decide, isIgnored, isOutstanding, rung } from './pacer.ts'
import { checkLimit, hasRingable, withChecked } from './pending-index.ts'
import * as queue from './queue-changes.ts'
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

export const attempt: Step = ({ link }) => ({
  change: { link: { ...link, retry_at: null } },
  effects: [{ type: 'connect' }],
})

/** Failures while the hub was away do not count. A running attempt is not cancelled. */
export const hubBack: Step<'HUB_BACK'> = ({ link: { retry_at } }, { now, random }) => {
  const soon = now + Math.round(random * LIMITS.hub_back_spread_ms)
  return { change: { link: { failures: 0, retry_at: retry_at === null ? null : Math.min(retry_at, soon) } } }
}

export const linkLost: Step<'LINK_LOST'> = (context, event) =>
  fallBack(context, event, { error_class: event.error_class, detail: event.detail })

/** The list did not come in time, or the hub would not give it. */
export const reconcileFailed: Step<'PEEK_REFUSED' | 'TIME_PASSED'> = (context, event) => {
  const detail = event.type === 'PEEK_REFUSED' ? event.detail : 'the hub did not list what waits in time'
  return closing(fallBack(context, event, { error_class: 'pending_reconcile_failed', detail }))
}

/** A hub that does not answer one short question is as good as gone. */
export const checkFailed: Step<'PEEK_REFUSED' | 'TIME_PASSED'> = (context, event) => {
  const detail = event.type === 'PEEK_REFUSED' ? event.detail : 'no answer to the look before a bell'
  return closing(fallBack(context, event, { error_class: 'ws_stream_stalled', detail }))
}

function fallBack(
  context: Context,
  { now, random }: { now: number; random: number },
  error: { error_class: DaemonErrorClass; detail: string },
): Outcome {
  const { failures } = context.link
  return {
    change: {
      history: queue.disconnected(context.history),
      link: { failures: failures + 1, retry_at: now + reconnectDelay(failures, random) },
      reconcile: null,
      check: null,
      take: null,
    },
    effects: [
      { type: 'countError', params: error },
      ...letGoOf(context.take),
      // Losing a working link is severe; the failures of a hub that is away are not, each time.
      ...(context.history.reconciled ? [{ type: 'publishMetrics' } as const] : []),
    ],
  }
}

function closing({ change, effects = [] }: Outcome): Outcome {
  return { ...(change && { change }), effects: [{ type: 'closeLink' }, ...effects] }
}

// --- reconcile ------------------------------------------------------------------------------

export const askForList: Step = ({ peeks }, { now }) => {
  const peek_id = `reconcile-${peeks + 1}`
  const by = now + LIMITS.reconcile_timeout_ms
  return {
    change: {
      peeks: peeks + 1,
      reconcile: { peek_id, by, meanwhile: reconcile.NOTHING_MEANWHILE, active: false },
    },
    effects: [{ type: 'peek', params: { peek_id, limit: LIMITS.pending_index_max } }],
  }
}

export const listed: Step<'PENDING_LISTED'> = (context, event) => {
  if (context.reconcile === null) return {}
  const { meanwhile, active } = context.reconcile
  const before = wishedFor(context.history, event)
  const { bell } = before
  const pending = reconcile.merge(event, meanwhile)
  const answered = bell !== null && reconcile.drainedUnheard(bell.signal_id, event, meanwhile)
  return {
    change: {
      history: queue.reconciled(before, { pending, active, answered }, event.now),
      link: { failures: 0, retry_at: null },
      reconcile: null,
      ...received(context, pending.entries, event.now),
      // When exactly, nobody said: some time while the link was away.
      ...(answered && { last_drain_at: event.now }),
    },
  }
}

export const pushedMeanwhile: Step<'SIGNAL_PUSHED'> = (context, { entry }) =>
  meanwhile(context, (before) => reconcile.meanwhilePushed(before, entry))

export const drainedMeanwhile: Step<'SIGNALS_DRAINED'> = (context, event) => {
  const { signal_ids, session_id, now } = event
  const { change } = meanwhile(context, (before) => reconcile.meanwhileDrained(before, signal_ids))
  const before = wishedFor(context.history, event)
  if (!queue.isOwnDrain(before, session_id))
    return { change: { ...change, history: before, last_drain_at: now } }
  const after = { ...forgetBell(before), ...queue.afterDrain(before) }
  // The agent is awake: what it left is no backlog that waits for it.
  const running = change.reconcile && { ...change.reconcile, active: true }
  return { change: { reconcile: running, history: after, last_drain_at: now } }
}

export const releasedMeanwhile: Step<'SIGNALS_RELEASED'> = (context, { signal_ids }) =>
  meanwhile(context, (before) => reconcile.meanwhileReleased(before, signal_ids))

export const goneMeanwhile: Step<'SIGNALS_GONE'> = (context, event) => {
  const { change } = meanwhile(context, (before) => reconcile.meanwhileDrained(before, event.signal_ids))
  return { change: { ...change, history: wishedFor(context.history, event) } }
}

/** Ids ascend, so the newest is the last one that came. */
function received(
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

/** A bell that a person asked for is for what waited then: with the last of that the wish is over. */
function wishedFor(before: History, { total }: { total: number }): History {
  return { ...before, manual: before.manual && total > 0 }
}

function meanwhile(
  context: Context,
  next: (meanwhile: reconcile.Meanwhile) => reconcile.Meanwhile,
): { change: Pick<Context, 'reconcile'> } {
  const running = context.reconcile
  return { change: { reconcile: running && { ...running, meanwhile: next(running.meanwhile) } } }
}

// --- the queue, while reconciled --------------------------------------------------------------

export const pushed: Step<'SIGNAL_PUSHED'> = (context, { entry, total, now }) => {
  const after = queue.pushed(context.history, entry, total)
  const absent = !after.surface.attached && !context.absence_counted && hasRingable(after.pending)
  const change = { history: after, ...received(context, [entry], now) }
  return absent ? noteAbsence(change) : { change }
}

export const drained: Step<'SIGNALS_DRAINED'> = (context, { signal_ids, session_id, total, now }) => {
  const drain = queue.isOwnDrain(context.history, session_id) ? queue.drained : queue.drainedElsewhere
  return { change: { history: drain(context.history, signal_ids, total), last_drain_at: now } }
}

export const released: Step<'SIGNALS_RELEASED'> = (context, { total, now }) => ({
  change: { history: queue.released(context.history, total, now) },
})

export const gone: Step<'SIGNALS_GONE'> = (context, { signal_ids, total }) => ({
  change: { history: queue.gone(context.history, signal_ids, total) },
})

// --- the surface ------------------------------------------------------------------------------

/** A report where no bell can leave: its answer is empty. */
export const reported: Step<'SURFACE_REPORTED'> = (context, event) => {
  const { change, active: now_active, effects } = takeIn(context, event)
  const after = { ...change.history, take: false }
  const running = context.reconcile
  const active = running !== null && (running.active || now_active)
  return {
    change: { ...change, history: after, reconcile: running && { ...running, active }, take: null },
    effects: [...effects, { type: 'answerReport', params: { request: event.request } }],
  }
}

/** A report whose answer may carry a bell: it waits until that is decided. */
export const reportedAtHand: Step<'SURFACE_REPORTED'> = (context, event) => {
  const { change, effects } = takeIn(context, event)
  const { request, now, report } = event
  if (report.take !== true) {
    const answer: Effect = { type: 'answerReport', params: { request } }
    return { change: { ...change, take: null }, effects: [...effects, answer] }
  }
  return { change: { ...change, take: { request, by: now + LIMITS.take_answer_ms } }, effects }
}

function takeIn(context: Context, { report, same_shim, now }: EventOf<'SURFACE_REPORTED'>) {
  const before = context.history
  const { history: after, active, seen, was_refused } = surface.reported(before, { report, same_shim }, now)
  const again = lookAgain(context, after, now)
  const effects = [
    ...letGoOf(context.take),
    ...factsEffect(before, after),
    // Its surface was wrong: it was rung.
    ...(was_refused ? tell(seen, 'accepted') : []),
    ...tell(seen, 'seen'),
    ...again.effects,
  ]
  const doorbells_rung = context.doorbells_rung + (was_refused ? 1 : 0)
  return {
    active,
    change: { ...again.change, history: after, absence_counted: false, doorbells_rung },
    effects,
  }
}

/** What the last look before a bell found waited for another session than the one that is there now. */
function lookAgain(context: Context, after: History, now: number): Required<Outcome> {
  const same = context.history.surface.session_id === after.surface.session_id
  return context.check === null || same ? { change: {}, effects: [] } : look(context, after, now)
}

export const surfaceLost: Step<'SURFACE_LOST'> = (context) => {
  if (!context.history.surface.attached) return {}
  const after = surface.surfaceLost(context.history)
  const { change, effects = [] } = noteAbsence({ history: after, take: null })
  return { change: change ?? {}, effects: [...letGoOf(context.take), ...effects, { type: 'publishFacts' }] }
}

/** Once for each absence, whoever notices it first. */
function noteAbsence(change: Partial<Context>): Outcome {
  const detail = 'no surface is attached'
  return {
    change: { ...change, absence_counted: true },
    effects: [
      { type: 'countError', params: { error_class: 'surface_unavailable', detail } },
      { type: 'publishMetrics' },
    ],
  }
}

export const neverAttached: Step = () => noteAbsence({})

export const abandoned: Step<'REPORT_ABANDONED'> = ({ take, history: before }, { request }) =>
  take?.request === request ? { change: { take: null, history: { ...before, take: false } } } : {}

/** Nothing is due for the report that waits. */
export const answerTake: Step = ({ take, history: before }) => ({
  change: { take: null, history: { ...before, take: false } },
  effects: letGoOf(take),
})

/**
 * The agent's surface was restarted by hand. What it had in its queue is gone, and that it comes back is
 * no failure of ours to count.
 */
export const resume: Step<'RESUME_REQUESTED'> = (context) => {
  const before = context.history
  const after = surface.resumed(before)
  return {
    change: { history: after, take: null },
    effects: [...letGoOf(context.take), { type: 'resumeSurface' }, ...factsEffect(before, after)],
  }
}

// --- bells ------------------------------------------------------------------------------------

/** Another may have drained since we last heard: ask the hub once more before anything leaves. */
export const askForCheck: Step = (context, { now }) => look(context, context.history, now)

function look({ peeks }: Context, history: History, now: number): Required<Outcome> {
  const peek_id = `check-${peeks + 1}`
  const limit = checkLimit(history.pending, chooseSignal(history))
  return {
    change: { peeks: peeks + 1, check: { peek_id, limit, by: now + LIMITS.emit_check_ms } },
    effects: [{ type: 'peek', params: { peek_id, limit } }],
  }
}

/** The one place where a bell leaves. */
export const emit: Step<'PENDING_LISTED'> = (context, event) => {
  const { check, take, identity } = context
  if (check === null) return {}
  const pending = withChecked(context.history.pending, event, check.limit)
  // What the look found is new to the next bell, though its push says nothing new any more.
  const fresh = context.history.fresh || queue.hasNews(context.history, pending)
  const before = { ...context.history, pending, fresh }
  // Not what was known: all of it is looked at before a bell names one and counts for the rest.
  if (!pending.settled) return { change: { check: null, history: before } }
  const decision = decide(before, event.now)
  const entry = chooseSignal(before)
  if (decision.kind !== 'ring' || entry === undefined) {
    return {
      change: { check: null, take: null, history: { ...before, take: false } },
      effects: letGoOf(take),
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
      ...{ check: null, take: null, history: after },
      // The answer to a report is in the surface's hands when it is written.
      doorbells_rung: context.doorbells_rung + (take === null ? 0 : 1),
    },
    effects: [
      { type: 'ring', params: { doorbell, request: take?.request ?? null } },
      ...tell(after.bell, 'requested'),
      ...(take === null ? [] : tell(after.bell, 'accepted')),
    ],
  }
}

/** Another bell is due, and the last one may still stand in the surface's queue. */
export const probe: Step = (context) => {
  const probe_id = `probe-${context.probes + 1}`
  return {
    change: { probes: context.probes + 1, history: { ...context.history, probe_id } },
    effects: [{ type: 'probe', params: { probe_id } }],
  }
}

export const probed: Step<'SURFACE_PROBED'> = ({ history: before }, { probe_id, holds, now }) => ({
  change: { history: surface.probed(before, probe_id, holds, now) },
})

export const bellAnswered: Step<'BELL_ANSWERED'> = (context, event) => {
  const { doorbell_id, signal_id, accepted, proof } = event
  const bell = { doorbell_id, signal_id }
  const {
    history: after,
    taken,
    seen,
  } = surface.bellAnswered(context.history, bell, accepted, proof, event.now)
  const effects: Effect[] = []
  if (taken) effects.push(...tell(bell, 'accepted'))
  if (seen) effects.push(...tell(bell, 'seen'))
  if (!taken && proof !== 'deferred') {
    const detail = `the surface answered ${proof}`
    effects.push({ type: 'countError', params: { error_class: 'surface_inject_failed', detail } })
  }
  const doorbells_rung = context.doorbells_rung + (taken ? 1 : 0)
  return { change: { history: after, doorbells_rung }, effects }
}

export const notifyUnconnected: Step<'NOTIFY_REQUESTED'> = (_, { request }) =>
  answerNotify(request, { accepted: false, reason: 'not_connected' })

export const notify: Step<'NOTIFY_REQUESTED'> = (context, { request, now }) => {
  const before = context.history
  const { surface, pending } = before
  if (pending.total === 0) return answerNotify(request, { accepted: false, reason: 'nothing_pending' })
  if (!surface.attached) return answerNotify(request, { accepted: false, reason: 'surface_absent' })
  if (isOutstanding(before, now)) return answerNotify(request, { accepted: false, reason: 'already_rung' })
  const atHand = surface.turn === 'idle' && surface.delivery === 'push'
  const result: NotifyResult = atHand ? { accepted: true } : { accepted: true, reason: 'mid_turn' }
  return { change: { history: { ...before, manual: true } }, ...answerNotify(request, result) }
}

function answerNotify(request: number, result: NotifyResult): Outcome {
  return { effects: [{ type: 'answerNotify', params: { request, result } }] }
}

// --- shared -----------------------------------------------------------------------------------

/** After every step: a turn that ended once too often without a drain is noted, until a drain. */
export function settle(context: Context): Context {
  const { history: now, now: at } = context
  const ignored = now.ignored || isIgnored(now, at)
  const manual = now.manual && now.pending.total > 0
  const same = ignored === now.ignored && manual === now.manual
  const history = same ? now : { ...now, ignored, manual }
  const reason = deliveryReasonOf(history, at)
  const delivery = reason === context.delivery.reason ? context.delivery : { reason, since: at }
  return same && delivery === context.delivery ? context : { ...context, history, delivery }
}

function letGoOf(take: Context['take']): Effect[] {
  return take === null ? [] : [{ type: 'answerReport', params: { request: take.request } }]
}

function tell(bell: BellName | null, stage: 'requested' | 'accepted' | 'seen'): Effect[] {
  if (bell === null) return []
  const { doorbell_id, signal_id } = bell
  return [{ type: 'tellDoorbell', params: { doorbell_id, signal_id, stage } }]
}

function factsEffect(before: History, after: History): Effect[] {
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
