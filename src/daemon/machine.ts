/**
 * The daemon's state machine: DISCONNECTED -> RECONCILING -> CONNECTED -> EMITTING, and from each state back
 * to DISCONNECTED. It names effects but performs none, reads no clock and sets no timer. Times, random
 * numbers and new ids arrive with each event; deadlines are data (`nextDeadline`) for which the runtime sends
 * TIME_PASSED. It is only used through xstate's pure `transition`.
 */
import { initialTransition, setup, transition, type SnapshotFrom } from 'xstate'
import type { MachineState } from '../contracts/control.ts'
import { newContext, nextDeadline as deadlineIn, type Context, type MachineInput } from './context.ts'
import type { DaemonEvent, Effect } from './events.ts'
import { decide } from './pacer.ts'
import * as steps from './steps.ts'
import type { Step } from './steps.ts'

type Params<T extends Effect['type']> = Extract<Effect, { type: T; params: object }>['params']

const daemon = setup({
  types: { context: {} as Context, events: {} as DaemonEvent, input: {} as MachineInput },
  actions: {
    // The effects. The machine only knows their names and parameters.
    connect() {},
    closeLink() {},
    peek(_, _params: Params<'peek'>) {},
    ring(_, _params: Params<'ring'>) {},
    probe(_, _params: Params<'probe'>) {},
    answerReport(_, _params: Params<'answerReport'>) {},
    answerNotify(_, _params: Params<'answerNotify'>) {},
    reportDoorbell(_, _params: Params<'reportDoorbell'>) {},
    publishFacts() {},
    publishMetrics() {},
    resumeSurface() {},
    countError(_, _params: Params<'countError'>) {},
  },
  guards: {
    attemptDue: ({ context: { link }, event }) => link.retry_at !== null && event.now >= link.retry_at,
    isOurList: ({ context, event }) => isAnswerTo(context.reconcile, event),
    listOverdue: ({ context: { reconcile }, event }) => reconcile !== null && event.now >= reconcile.by,
    isOurCheck: ({ context, event }) => isAnswerTo(context.check, event),
    checkOverdue: ({ context: { check }, event }) => check !== null && event.now >= check.by,
    takeOverdue: ({ context: { take }, event }) => take !== null && event.now >= take.by,
    takeWaits: ({ context }) => context.take !== null,
    probeDue: ({ context, event }) => decide(context.history, event.now).kind === 'ask',
    bellDue: ({ context, event }) => decide(context.history, event.now).kind === 'ring',
    absenceDue: ({ context, event }) =>
      !context.history.surface.known && !context.absence_counted && event.now >= context.absent_by,
  },
})

function isAnswerTo(peek: { peek_id: string } | null, event: DaemonEvent): boolean {
  return (event.type === 'PENDING_LISTED' || event.type === 'PEEK_REFUSED') && event.peek_id === peek?.peek_id
}

/** Wraps a step as an xstate action: applies its change to the context, then enqueues its effects in order. */
function act<T extends DaemonEvent['type']>(step: Step<T>) {
  return daemon.enqueueActions(({ context, event, enqueue }) => {
    // Each step is used only for its own event type (or takes any), which xstate's types do not express here.
    const { change, effects = [] } = step(context, event as Parameters<Step<T>>[1])
    enqueue.assign(steps.updateDerived({ ...context, ...change, now: event.now }))
    for (const effect of effects) enqueue(effect)
  })
}

/**
 * Context for the temporary actor that xstate's `transition` creates each time without an input. A context
 * factory that threw there would cost a caught error with its stack at every event.
 */
const UNUSED = newContext({
  identity: '',
  surface: 'mcp',
  now: 0,
  rules: {
    reconnect_ring: 'boundary',
    reconnect_grace_ms: 0,
    reconnect_patience_ms: 0,
    bell_receipt_ms: 0,
    redoorbell_max: 0,
    receipts: false,
    headless: false,
  },
})

export const daemonMachine = daemon.createMachine({
  context: ({ input }) => ((input as MachineInput | undefined) === undefined ? UNUSED : newContext(input)),
  initial: 'DISCONNECTED',
  on: {
    SURFACE_LOST: { actions: act(steps.onSurfaceLost) },
    REPORT_ABANDONED: { actions: act(steps.onReportAbandoned) },
    BELL_ANSWERED: { actions: act(steps.onBellAnswered) },
    SURFACE_PROBED: { actions: act(steps.onProbed) },
    RESUME_REQUESTED: { actions: act(steps.onResumeRequested) },
    LINK_LOST: { target: '.DISCONNECTED', actions: act(steps.onLinkLost) },
    TIME_PASSED: { guard: 'absenceDue', actions: act(steps.onNeverAttached) },
  },
  states: {
    DISCONNECTED: {
      on: {
        TIME_PASSED: { guard: 'attemptDue', actions: act(steps.startAttempt) },
        LINK_UP: { target: 'RECONCILING' },
        HUB_BACK: { actions: act(steps.onHubBack) },
        SURFACE_REPORTED: { actions: act(steps.onReportWhileUnlinked) },
        NOTIFY_REQUESTED: { actions: act(steps.onNotifyWhileUnlinked) },
      },
    },
    RECONCILING: {
      entry: act(steps.requestList),
      on: {
        PENDING_LISTED: { guard: 'isOurList', target: 'CONNECTED', actions: act(steps.onListReceived) },
        PEEK_REFUSED: { guard: 'isOurList', target: 'DISCONNECTED', actions: act(steps.onReconcileFailed) },
        TIME_PASSED: { guard: 'listOverdue', target: 'DISCONNECTED', actions: act(steps.onReconcileFailed) },
        SIGNAL_PUSHED: { actions: act(steps.onPushedWhileReconciling) },
        SIGNALS_DRAINED: { actions: act(steps.onDrainedWhileReconciling) },
        SIGNALS_RELEASED: { actions: act(steps.onReleasedWhileReconciling) },
        SIGNALS_GONE: { actions: act(steps.onGoneWhileReconciling) },
        SURFACE_REPORTED: { actions: act(steps.onReportWhileUnlinked) },
        NOTIFY_REQUESTED: { actions: act(steps.onNotifyWhileUnlinked) },
      },
    },
    CONNECTED: {
      always: [
        { guard: 'bellDue', target: 'EMITTING' },
        { guard: 'probeDue', actions: act(steps.startProbe) },
        { guard: 'takeWaits', actions: act(steps.answerWaitingReport) },
      ],
      on: {
        SIGNAL_PUSHED: { actions: act(steps.onPushed) },
        SIGNALS_DRAINED: { actions: act(steps.onDrained) },
        SIGNALS_RELEASED: { actions: act(steps.onReleased) },
        SIGNALS_GONE: { actions: act(steps.onGone) },
        SURFACE_REPORTED: { actions: act(steps.onReport) },
        NOTIFY_REQUESTED: { actions: act(steps.onNotify) },
        // Elapsed time alone may make a doorbell due. The step is empty; the eventless transition above
        // decides.
        TIME_PASSED: [
          { guard: 'absenceDue', actions: act(steps.onNeverAttached) },
          { actions: act(() => ({})) },
        ],
      },
    },
    EMITTING: {
      entry: act(steps.startCheck),
      on: {
        PENDING_LISTED: { guard: 'isOurCheck', target: 'CONNECTED', actions: act(steps.emit) },
        PEEK_REFUSED: { guard: 'isOurCheck', target: 'DISCONNECTED', actions: act(steps.onCheckFailed) },
        TIME_PASSED: [
          { guard: 'checkOverdue', target: 'DISCONNECTED', actions: act(steps.onCheckFailed) },
          { guard: 'takeOverdue', actions: act(steps.answerWaitingReport) },
        ],
        SIGNAL_PUSHED: { actions: act(steps.onPushed) },
        SIGNALS_DRAINED: { actions: act(steps.onDrained) },
        SIGNALS_RELEASED: { actions: act(steps.onReleased) },
        SIGNALS_GONE: { actions: act(steps.onGone) },
        SURFACE_REPORTED: { actions: act(steps.onReport) },
        NOTIFY_REQUESTED: { actions: act(steps.onNotify) },
      },
    },
  },
})

export type DaemonSnapshot = SnapshotFrom<typeof daemonMachine>

export function start(input: MachineInput): DaemonSnapshot {
  return initialTransition(daemonMachine, input)[0]
}

/** Returns the next snapshot and the requested effects, in order. Performs nothing. */
export function step(snapshot: DaemonSnapshot, event: DaemonEvent): [DaemonSnapshot, Effect[]] {
  const [next, actions] = transition(daemonMachine, snapshot, event)
  // xstate has resolved its own actions here; the remaining ones are the effects enqueued by name.
  return [next, actions.map(({ type, params }) => ({ type, params }) as Effect)]
}

export function stateOf(snapshot: DaemonSnapshot): MachineState {
  return snapshot.value
}

export function nextDeadline(snapshot: DaemonSnapshot): number | null {
  return deadlineIn(snapshot.value, snapshot.context)
}
