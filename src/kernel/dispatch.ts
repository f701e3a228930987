/**
 * Runs actions: resolve, permit, validate, handle, validate, record.
 *
 * All transports use it. It depends on no facade and never throws: errors are returned as problems that every transport
 * can send unchanged.
 */
import type { z } from 'zod'
import { charge, createBudget, type Budget } from './budget.ts'
import { harmlessOutcome } from './gate.ts'
import { visibleEvents } from './visible-events.ts'
import { GRANTS_DEFAULT, permit, refusal, boundsOf, type Asking, type Grants } from './policy.ts'
import { createRegistry, type Registry } from './registry.ts'
import { createActionSearch, type ActionSearch } from './search.ts'
import { assertCalledDirectly, countCall, isHarmless, type Nesting } from './nesting.ts'
import { createFairQueue, type FairQueue, type Leave, type Weight } from './fair-queue.ts'
import { createKernelView } from './view.ts'
import type { Deprecated, DispatchContext, DispatchOutcome, Facade, Found, KernelView } from './define.ts'
import { toProblem, TurnbellError } from '../contracts/errors/errors.ts'
import { parseParamsLeniently } from '../contracts/validation/parse-params.ts'
import { ANONYMOUS_AGENT, type Json } from '../contracts/ids.ts'
import type { CallerContext, Narrowing } from '../contracts/http.ts'
import { isDeeper } from '../contracts/validation/json.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { RecordKind } from '../contracts/memory/records.ts'
import type { Caller } from '../contracts/token.ts'
import type { Modules } from '../modules/modules.ts'
import { timestamp, type Clock } from '../ports/clock.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'
import type { SentAnswer } from '../ports/sent-answer.ts'
import { isObject } from '../contracts/validation/is-object.ts'

export interface DispatchRequest {
  /** Name of a facade; without `action` the name of a tool or a deprecated name. */
  facade: string
  action?: string | undefined
  params?: unknown
  caller: Caller
  context?: CallerContext | undefined
  /** See `CallContext.answer`. Must settle, because a lease may wait for it. */
  answer: SentAnswer
  /** Bounds of this call and of its inner calls. */
  narrowing?: Narrowing | undefined
  /** Whether a model reads the answer. Answers for agents are always read by a model. */
  for_model?: boolean | undefined
  /** Shared budget of a request with several calls. Default: a budget of its own. */
  budget?: Budget | undefined
}

/** One line of logs/dispatch.jsonl. */
export interface DispatchLine {
  timestamp: string
  /** The `parent_call_id` of its inner calls. */
  call_id: string
  facade: string
  action: string
  identity: string
  kind: Caller['kind']
  agent_id: string
  run_id: string | null
  parent_call_id: string | null
  scope: string | null
  duration_ms: number
  success: boolean
  /** Code and instance of the problem, if the call failed. */
  error?: string
  instance?: string
}

export interface KernelOptions {
  facades: readonly Facade[]
  /** Kinds of records that belong to no facade. */
  kinds?: readonly RecordKind[]
  grants?: Grants
  modules: Modules
  events: EventLog
  clock: Clock
  ids: Ids
  log: Log
  /** Receives the line for logs/dispatch.jsonl. Must not throw and must not block. */
  line?: (line: DispatchLine) => void
  /** Called for every authenticated call, as a sign of life of its session. */
  seen?: (caller: Caller) => void
}

export interface Kernel {
  registry: Registry
  /** The current grants. */
  grants(): Grants
  /** Sets the grants and notifies the listeners if they differ. */
  setGrants(grants: Grants): void
  /** Adds a listener for changes of the grants. Returns a function that removes it. */
  changed(listener: () => void): () => void
  /** Returns the actions that the caller may call, in the order of declaration. Throws `intent_unknown`, `facet_forbidden`. */
  permitted(caller: Caller, narrowing?: Narrowing): Found[]
  /** Never rejects. */
  dispatch(request: DispatchRequest): Promise<DispatchOutcome>
  /** The queue of calls, also for responses that no action gives. */
  queue: FairQueue
}

const NAME_SHOWN_MAX = 64

interface KernelParts extends KernelOptions {
  registry: Registry
  search: ActionSearch
  queue: FairQueue
  granted(): Grants
}

export function createKernel(options: KernelOptions): Kernel {
  const registry = createRegistry(options.facades, options.kinds)
  const listeners = new Set<() => void>()
  let grants = options.grants ?? GRANTS_DEFAULT
  const search = createActionSearch(registry.actions)
  const queue = createFairQueue(options.clock)
  const parts: KernelParts = { ...options, registry, search, queue, granted: () => grants }
  return {
    registry,
    queue,
    grants: () => grants,
    setGrants(next) {
      const same = JSON.stringify(next) === JSON.stringify(grants)
      grants = next
      if (!same) for (const listener of listeners) listener()
    },
    changed(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    permitted(caller, narrowing = {}) {
      const asking: Asking = { caller, grants, narrowing: boundsOf(narrowing, { caller, grants }) }
      return registry.actions.filter(({ facade, action }) => refusal(asking, facade, action) === null)
    },
    async dispatch(request) {
      const budget = request.budget ?? createBudget()
      const outcome = await dispatch(parts, request, { depth: 0, budget, whole: true })
      const is_for_model = request.for_model === true || request.caller.kind === 'agent'
      return is_for_model ? harmlessOutcome(outcome) : outcome
    },
  }
}

/** State of one call while it runs. */
interface RunningCall {
  readonly call_id: string
  readonly context: DispatchContext
  /** Monotonic milliseconds. */
  readonly started: number
  /** As the caller wrote them, truncated because readers of the event stream receive them; resolved names afterwards. */
  facade: string
  action: string
  /** Views read frequently; as events, their reads would fill the log. */
  is_view: boolean
  leave: Leave
  has_inner_calls: boolean
}

async function dispatch(
  kernel: KernelParts,
  request: DispatchRequest,
  nesting: Nesting,
): Promise<DispatchOutcome> {
  const { caller } = request
  const call: RunningCall = {
    call_id: kernel.ids.next(),
    context: fullContext(request.context),
    started: kernel.clock.monotonic(),
    facade: request.facade.slice(0, NAME_SHOWN_MAX),
    action: (request.action ?? '').slice(0, NAME_SHOWN_MAX),
    is_view: false,
    leave: () => undefined,
    has_inner_calls: false,
  }
  try {
    kernel.seen?.(caller)
    const found = await resolveAndEnter(kernel, request, call)
    const outcome = await run(kernel, request, nesting, call, found)
    finish(kernel, caller, call, null)
    return outcome
  } catch (error) {
    const instance = kernel.ids.next()
    const problem = toProblem(error, instance)
    const { facade, action } = call
    const { agent_id, run_id } = call.context
    if (problem.code === 'internal')
      kernel.log.error({ err: error, instance, facade, action, identity: caller.identity }, 'action failed')
    append(kernel, caller, 'error', { facade, action, agent_id, run_id, error: problem.code })
    finish(kernel, caller, call, { error: problem.code, instance })
    return { ok: false, problem }
  } finally {
    call.leave()
  }
}

/** Resolves the name of a call, and waits until the call may run. */
async function resolveAndEnter(
  { registry, queue }: KernelParts,
  { facade, action, caller, answer }: DispatchRequest,
  call: RunningCall,
): Promise<Found> {
  const enter = async (weight: Weight) => {
    const entered = queue.enter(caller, weight, answer)
    call.leave = entered instanceof Promise ? await entered : entered
  }
  let found: Found
  try {
    found = registry.resolve(facade, action)
  } catch (error) {
    // Finding the nearest names takes time, so it is queued as well.
    await enter('look')
    throw error
  }
  call.facade = found.facade.name
  call.action = found.name
  call.is_view = isView(caller, call.context) && !found.action.mutates
  await enter(weightOf(found))
  return found
}

/** Checks a resolved call and runs its handler. */
async function run(
  kernel: KernelParts,
  request: DispatchRequest,
  nesting: Nesting,
  call: RunningCall,
  found: Found,
): Promise<DispatchOutcome> {
  const { clock } = kernel
  const { caller, answer } = request
  const { context, facade, action } = call
  const began = clock.monotonic()
  if (!call.is_view) {
    const { agent_id, run_id } = context
    append(kernel, caller, 'dispatch', { facade, action, agent_id, run_id, timestamp: timestamp(clock) })
  }
  countCall(nesting)
  const asking = askingOf(kernel, request)
  permit(asking, found.facade, found.action)
  const { value: input, note } = parseInput(found, request.params, nesting)
  assertCalledDirectly(found, input, nesting)

  const own_name = deprecationOf(found)
  const seen: InnerNotes = {
    ...(own_name === undefined ? {} : { deprecated: own_name }),
    notes: note === undefined ? [] : [note],
  }
  const view = viewFor(kernel, request, asking, { nesting, call, found, seen })
  const handled: unknown = await found.action.handle(input, {
    caller,
    context,
    kernel: view,
    modules: kernel.modules,
    answer,
  })
  // The outputs of inner calls were validated by their own dispatch.
  const result =
    found.action.delegates === true ? (handled as Json) : parseOutput(found.action.output, handled)
  const is_alone = nesting.depth === 0 && request.budget === undefined
  if (!is_alone && !call.has_inner_calls) charge(nesting.budget, result, clock.monotonic() - began)
  const outcome: DispatchOutcome = { ok: true, result }
  if (seen.deprecated !== undefined) outcome.deprecated = seen.deprecated
  if (seen.notes.length > 0) outcome.note = seen.notes.join('; ')
  return outcome
}

function askingOf(kernel: KernelParts, { caller, narrowing }: DispatchRequest): Asking {
  const grants = kernel.granted()
  return {
    caller,
    grants,
    narrowing: narrowing === undefined ? {} : boundsOf(narrowing, { caller, grants }),
  }
}

/** Notes for the outcome of a call, from the call itself and from its inner calls. */
interface InnerNotes {
  deprecated?: Deprecated
  notes: string[]
}

/** The kernel as the handler of a call sees it. */
function viewFor(
  kernel: KernelParts,
  request: DispatchRequest,
  asking: Asking,
  outer: { nesting: Nesting; call: RunningCall; found: Found; seen: InnerNotes },
): KernelView {
  const { registry, search, events } = kernel
  const { nesting, call, found, seen } = outer
  const inner = (passed_on: boolean): Nesting => ({
    depth: nesting.depth + 1,
    budget: nesting.budget,
    whole: nesting.whole && passed_on && found.action.delegates === true,
  })
  return createKernelView({
    registry,
    search,
    asking,
    events: (wanted) => visibleEvents(events, request.caller, wanted),
    check(wanted) {
      const target = registry.resolve(wanted.facade, wanted.action)
      countCall({ ...inner(false), budget: createBudget() })
      permit(asking, target.facade, target.action)
      const { value: input } = parseInput(target, wanted.params, inner(false))
      assertCalledDirectly(target, input, inner(false))
      return { mutates: target.action.mutates && !isHarmless(target, input) }
    },
    async dispatch(wanted, { passed_on }) {
      call.has_inner_calls = true
      call.leave()
      const context = { ...call.context, parent_call_id: call.call_id }
      const outcome = await dispatch(
        kernel,
        { ...request, action: undefined, ...wanted, context },
        inner(passed_on),
      )
      if (outcome.ok && outcome.deprecated !== undefined) seen.deprecated ??= outcome.deprecated
      if (outcome.ok && passed_on && outcome.note !== undefined) seen.notes.push(outcome.note)
      return outcome
    },
  })
}

/** Appends an event with the identity of the caller's token; names that the caller gives are only in the data. */
function append(
  { events }: KernelParts,
  { identity }: Caller,
  type: 'dispatch' | 'result' | 'error',
  data: Record<string, Json>,
): void {
  events.append({ type, agent_id: identity, data })
}

/** Records the end of a call in the event stream and the dispatch log. */
function finish(
  kernel: KernelParts,
  caller: Caller,
  { call_id, context, started, facade, action, is_view }: RunningCall,
  failure: { error: string; instance: string } | null,
): void {
  const { clock } = kernel
  const { agent_id, run_id, parent_call_id, scope } = context
  const { identity, kind } = caller
  const duration_ms = Math.round((clock.monotonic() - started) * 1000) / 1000
  const success = failure === null
  if (!is_view || !success)
    append(kernel, caller, 'result', { facade, action, agent_id, run_id, duration_ms, success })
  const line: DispatchLine = {
    timestamp: timestamp(clock),
    call_id,
    facade,
    action,
    identity,
    kind,
    agent_id,
    run_id,
    parent_call_id,
    scope,
    duration_ms,
    success,
  }
  kernel.line?.(failure === null ? line : { ...line, ...failure })
}

/** Views of people call as the operator or as an observer, without an agent name and outside any run. */
function isView({ kind }: Caller, { agent_id, run_id }: DispatchContext): boolean {
  return (kind === 'operator' || kind === 'observer') && agent_id === ANONYMOUS_AGENT && run_id === null
}

function weightOf({ action: { delegates, mutates } }: Found): Weight {
  if (delegates === true) return 'pass'
  return mutates ? 'change' : 'look'
}

function deprecationOf({ facade, name, alias }: Found): Deprecated | undefined {
  return alias === undefined ? undefined : { name: alias, facade: facade.name, action: name }
}

/** Adds defaults: an anonymous agent outside any run. */
export function fullContext(given: CallerContext | undefined): DispatchContext {
  return {
    agent_id: given?.agent_id ?? ANONYMOUS_AGENT,
    run_id: given?.run_id ?? null,
    parent_call_id: given?.parent_call_id ?? null,
    scope: given?.scope ?? null,
  }
}

function parseInput(
  { action, adapt }: Found,
  params: unknown,
  { depth }: Nesting,
): { value: unknown; note: string | undefined } {
  // Outer calls are checked by their transport; an inner call may combine parts to a deeper value.
  if (depth > 0 && isDeeper(params, LIMITS.wire_depth_max)) {
    throw new TurnbellError('params_invalid', {
      detail: `The parameters are nested more than ${LIMITS.wire_depth_max} deep.`,
    })
  }
  const given = params ?? {}
  const adapted = adapt !== undefined && isObject(given) ? adapt(given) : given
  return parseParamsLeniently(action.input, adapted)
}

/** Throws an ordinary error, which becomes `internal`, because an invalid output is a bug of the action. */
function parseOutput(schema: z.ZodType, output: unknown): Json {
  return schema.parse(output) as Json
}
