/**
 * The daemon's machine: DISCONNECTED -> RECONCILING -> CONNECTED -> EMITTING, and from each back to
 * DISCONNECTED. It names effects and performs none, reads no clock and keeps no timer: time, randomness
 * and fresh ids come in with each event, deadlines are data (`nextDeadline`) for which the runtime sends
 * TIME_PASSED. Only ever used through xstate's pure `transition`.
 */
import { initialTransition, setup, transition, type SnapshotFrom } from 'xstate'
import type { MachineState } from '../contracts/control.ts'
import { newContext, nextDeadline as deadlineIn, type Context, type Input } from './context.ts'
import type { DaemonEvent, Effect } from './events.ts'
import { decide } from './pacer.ts'
import * as steps from './steps.ts'
import type { Step } from './steps.ts'

type Params<T extends Effect['type']> = Extract<Effect, { type: T; params: object }>['params']

const daemon = setup({
  types: { context: {} as Context, events: {} as DaemonEvent, input: {} as Input },
  actions: {
    // The effects. Their names are all the machine knows of them.
    connect() {},
    closeLink() {},
    peek(_, _params: Params<'peek'>) {},
    ring(_, _params: Params<'ring'>) {},
    probe(_, _params: Params<'probe'>) {},
    answerReport(_, _params: Params<'answerReport'>) {},
    answerNotify(_, _params: Params<'answerNotify'>) {},
    tellDoorbell(_, _params: Params<'tellDoorbell'>) {},
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

/** A step as an xstate action: its change to the context, then its effects by name, in order. */
function act<T extends DaemonEvent['type']>(step: Step<T>) {
  return daemon.enqueueActions(({ context, event, enqueue }) => {
    // Each step stands only under its own event (or takes any), which xstate's types do not carry here.
    const { change, effects = [] } = step(context, event as Parameters<Step<T>>[1])
    enqueue.assign(steps.settle({ ...context, ...change, now: event.now }))
    for (const effect of effects) enqueue(effect)
  })
}

/**
 * xstate's `transition` makes a throw-away actor each time, without an input, only to have a scope. A
 * context that failed there would cost a caught error with its stack at every event.
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
  context: ({ input }) => ((input as Input | undefined) === undefined ? UNUSED : newContext(input)),
  initial: 'DISCONNECTED',
  on: {
    SURFACE_LOST: { actions: act(steps.surfaceLost) },
    REPORT_ABANDONED: { actions: act(steps.abandoned) },
    BELL_ANSWERED: { actions: act(steps.bellAnswered) },
    SURFACE_PROBED: { actions: act(steps.probed) },
    RESUME_REQUESTED: { actions: act(steps.resume) },
    LINK_LOST: { target: '.DISCONNECTED', actions: act(steps.linkLost) },
    TIME_PASSED: { guard: 'absenceDue', actions: act(steps.neverAttached) },
  },
  states: {
    DISCONNECTED: {
      on: {
        TIME_PASSED: { guard: 'attemptDue', actions: act(steps.attempt) },
        LINK_UP: { target: 'RECONCILING' },
        HUB_BACK: { actions: act(steps.hubBack) },
        SURFACE_REPORTED: { actions: act(steps.reported) },
        NOTIFY_REQUESTED: { actions: act(steps.notifyUnconnected) },
      },
    },
    RECONCILING: {
      entry: act(steps.askForList),
      on: {
        PENDING_LISTED: { guard: 'isOurList', target: 'CONNECTED', actions: act(steps.listed) },
        PEEK_REFUSED: { guard: 'isOurList', target: 'DISCONNECTED', actions: act(steps.reconcileFailed) },
        TIME_PASSED: { guard: 'listOverdue', target: 'DISCONNECTED', actions: act(steps.reconcileFailed) },
        SIGNAL_PUSHED: { actions: act(steps.pushedMeanwhile) },
        SIGNALS_DRAINED: { actions: act(steps.drainedMeanwhile) },
        SIGNALS_RELEASED: { actions: act(steps.releasedMeanwhile) },
        SIGNALS_GONE: { actions: act(steps.goneMeanwhile) },
        SURFACE_REPORTED: { actions: act(steps.reported) },
        NOTIFY_REQUESTED: { actions: act(steps.notifyUnconnected) },
      },
    },
    CONNECTED: {
      always: [
        { guard: 'bellDue', target: 'EMITTING' },
        { guard: 'probeDue', actions: act(steps.probe) },
        { guard: 'takeWaits', actions: act(steps.answerTake) },
      ],
      on: {
        SIGNAL_PUSHED: { actions: act(steps.pushed) },
        SIGNALS_DRAINED: { actions: act(steps.drained) },
        SIGNALS_RELEASED: { actions: act(steps.released) },
        SIGNALS_GONE: { actions: act(steps.gone) },
        SURFACE_REPORTED: { actions: act(steps.reportedAtHand) },
        NOTIFY_REQUESTED: { actions: act(steps.notify) },
        // Time alone may make a bell due: the step is empty, the eventless transition above asks again.
        TIME_PASSED: [
          { guard: 'absenceDue', actions: act(steps.neverAttached) },
          { actions: act(() => ({})) },
        ],
      },
    },
    EMITTING: {
      entry: act(steps.askForCheck),
      on: {
        PENDING_LISTED: { guard: 'isOurCheck', target: 'CONNECTED', actions: act(steps.emit) },
        PEEK_REFUSED: { guard: 'isOurCheck', target: 'DISCONNECTED', actions: act(steps.checkFailed) },
        TIME_PASSED: [
          { guard: 'checkOverdue', target: 'DISCONNECTED', actions: act(steps.checkFailed) },
          { guard: 'takeOverdue', actions: act(steps.answerTake) },
        ],
        SIGNAL_PUSHED: { actions: act(steps.pushed) },
        SIGNALS_DRAINED: { actions: act(steps.drained) },
        SIGNALS_RELEASED: { actions: act(steps.released) },
        SIGNALS_GONE: { actions: act(steps.gone) },
        SURFACE_REPORTED: { actions: act(steps.reportedAtHand) },
        NOTIFY_REQUESTED: { actions: act(steps.notify) },
      },
    },
  },
})

export type DaemonSnapshot = SnapshotFrom<typeof daemonMachine>

export function start(input: Input): DaemonSnapshot {
  return initialTransition(daemonMachine, input)[0]
}

/** The next snapshot and the effects it asks for, in order. Performs nothing. */
export function step(snapshot: DaemonSnapshot, event: DaemonEvent): [DaemonSnapshot, Effect[]] {
  const [next, actions] = transition(daemonMachine, snapshot, event)
  // What is left once xstate has resolved its own actions is the effects, as `enqueue` named them.
  return [next, actions.map(({ type, params }) => ({ type, params }) as Effect)]
}

export function stateOf(snapshot: DaemonSnapshot): MachineState {
  return snapshot.value
}

export function nextDeadline(snapshot: DaemonSnapshot): number | null {
  return deadlineIn(snapshot.value, snapshot.context)
}
