/**
 * How any action runs: resolve, permit, validate, handle, validate, tell.
 *
 * There is one path for every transport. It knows no facade, and it never throws: what went wrong
 * comes back as the problem that every transport can send as it stands.
 */
import type { z } from 'zod'
import { heard } from './heard.ts'
import { GRANTS_DEFAULT, permit, refusal, boundsOf, type Asking, type Grants } from './policy.ts'
import { createRegistry, type Registry } from './registry.ts'
import { createActionSearch, type ActionSearch } from './search.ts'
import { bound, handOver, isHarmless, type Standing } from './standing.ts'
import { createKernelView } from './view.ts'
import type {
  CallContext,
  Deprecated,
  DispatchContext,
  DispatchOutcome,
  Facade,
  Found,
  KernelView,
} from './define.ts'
import { toProblem, TurnbellError } from '../contracts/errors.ts'
import { fittedAsMeant } from '../contracts/fit.ts'
import { ANONYMOUS_AGENT, type Json } from '../contracts/ids.ts'
import type { CallerContext, Narrowing } from '../contracts/http.ts'
import { isDeeper } from '../contracts/json.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { RecordKind } from '../contracts/records.ts'
import type { Caller } from '../contracts/token.ts'
import type { Modules } from '../modules/modules.ts'
import { timestamp, type Clock } from '../ports/clock.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'

export interface DispatchRequest {
  /** A facade's name; or, without `action`, a tool's name or any old name. */
  facade: string
  action?: string | undefined
  params?: unknown
  caller: Caller
  context?: CallerContext | undefined
  /** See `CallContext.answered`. Must settle: a lease hangs on it. */
  answered: Promise<'written' | 'broken'>
  /** Bounds of this one call, and of all that it calls in turn. */
  narrowing?: Narrowing | undefined
}

/** One line of logs/dispatch.jsonl. */
export interface DispatchLine {
  timestamp: string
  /** What calls that this one made name as their parent. */
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
  /** Only of a failed one: the code, and the instance that the caller was told. */
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
  /** Takes the line for logs/dispatch.jsonl. Must not throw and must not wait. */
  line?: (line: DispatchLine) => void
  /** Every authenticated call is a sign of life of its session. */
  seen?: (caller: Caller) => void
}

export interface Kernel {
  registry: Registry
  /** What is offered now. */
  grants(): Grants
  /** From now on this is offered. Every listener of `changed` is told, if it is something else than before. */
  offer(grants: Grants): void
  /** Returns what ends it. */
  changed(listener: () => void): () => void
  /** What this caller may call, in the order of the declarations. Throws `intent_unknown`, `facet_forbidden`. */
  permitted(caller: Caller, narrowing?: Narrowing): Found[]
  /** Never rejects. */
  dispatch(request: DispatchRequest): Promise<DispatchOutcome>
}

const NAME_SHOWN_MAX = 64

/** What dispatch works with. */
interface Workings extends KernelOptions {
  registry: Registry
  search: ActionSearch
  granted(): Grants
  /**
   * What every call's context is a copy of, with a place for all that a call fills in: an object that is
   * copied and then grows costs fifty times as much.
   */
  blank: CallContext
}

export function createKernel(options: KernelOptions): Kernel {
  const registry = createRegistry(options.facades, options.kinds)
  const listeners = new Set<() => void>()
  let grants = options.grants ?? GRANTS_DEFAULT
  const search = createActionSearch(registry.actions)
  const unfilled = { caller: null, context: null, kernel: null, answered: null }
  const blank = { ...options.modules, ...unfilled } as unknown as CallContext
  const workings: Workings = { ...options, registry, search, granted: () => grants, blank }
  return {
    registry,
    grants: () => grants,
    offer(offered) {
      const same = JSON.stringify(offered) === JSON.stringify(grants)
      grants = offered
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
    dispatch: (request) => dispatch(workings, request, { depth: 0, made: { count: 0 }, whole: true }),
  }
}

async function dispatch(
  workings: Workings,
  request: DispatchRequest,
  standing: Standing,
): Promise<DispatchOutcome> {
  const { clock, registry } = workings
  const { caller } = request
  const started = clock.monotonic()
  const call_id = workings.ids.next()
  const context = fullContext(request.context)
  // Until it resolves, a name is whatever the caller wrote, and every reader of the stream would carry it.
  const name = {
    facade: request.facade.slice(0, NAME_SHOWN_MAX),
    action: (request.action ?? '').slice(0, NAME_SHOWN_MAX),
  }
  const { agent_id, run_id, parent_call_id, scope } = context
  const { identity, kind } = caller
  // Written out field by field, here and below: every call is told of three times, and copying costs more.
  const tell = (type: 'dispatch' | 'result' | 'error', data: Record<string, Json>) =>
    // Whom it is about is told from the token; what the caller says of itself stays in the data.
    workings.events.append({ type, agent_id: identity, data })
  // People's views look all the time: kept as events, their looks would be most of the log.
  let is_look = false
  const finish = (success: boolean, failure: { error?: string; instance?: string } | null) => {
    const { facade, action } = name
    const duration_ms = Math.round((clock.monotonic() - started) * 1000) / 1000
    if (!is_look || !success) tell('result', { facade, action, agent_id, run_id, duration_ms, success })
    const line: DispatchLine = {
      ...{ timestamp: timestamp(clock), call_id, facade, action, identity, kind },
      ...{ agent_id, run_id, parent_call_id, scope, duration_ms, success },
    }
    workings.line?.(failure === null ? line : { ...line, ...failure })
  }

  try {
    workings.seen?.(caller)
    const found = registry.resolve(request.facade, request.action)
    name.facade = found.facade.name
    name.action = found.name
    is_look = isView(caller, context) && !found.action.mutates
    if (!is_look)
      tell('dispatch', {
        ...{ facade: name.facade, action: name.action, agent_id, run_id },
        timestamp: timestamp(clock),
      })
    bound(standing)
    const grants = workings.granted()
    const asking: Asking = {
      caller,
      grants,
      narrowing: request.narrowing === undefined ? {} : boundsOf(request.narrowing, { caller, grants }),
    }
    permit(asking, found.facade, found.action)
    const { value: input, note } = parseInput(found, request.params, standing)
    const notes = note === undefined ? [] : [note]
    handOver(found, input, standing)
    let deprecated = deprecationOf(found)
    const inner = (passed_on: boolean): Standing => ({
      depth: standing.depth + 1,
      made: standing.made,
      whole: standing.whole && passed_on && found.action.delegates === true,
    })
    const kernel: KernelView = createKernelView({
      ...{ registry, search: workings.search, asking },
      events: (wanted) => heard(workings.events, caller, wanted),
      judge(call) {
        const asked = registry.resolve(call.facade, call.action)
        bound({ ...inner(false), made: { count: 0 } })
        permit(asking, asked.facade, asked.action)
        const { value: told } = parseInput(asked, call.params, inner(false))
        handOver(asked, told, inner(false))
        return { mutates: asked.action.mutates && !isHarmless(asked, told) }
      },
      async dispatch(call, { passed_on }) {
        const told = { ...context, parent_call_id: call_id }
        const outcome = await dispatch(
          workings,
          { ...request, action: undefined, ...call, context: told },
          inner(passed_on),
        )
        if (outcome.ok) deprecated ??= outcome.deprecated
        if (outcome.ok && passed_on && outcome.note !== undefined) notes.push(outcome.note)
        return outcome
      },
    })
    const { answered } = request
    const output: unknown = await found.action.handle(input, {
      ...workings.blank,
      ...{ caller, context, kernel, answered },
    })
    const result = parseOutput(found.action.output, output)
    finish(true, null)
    const outcome: DispatchOutcome = { ok: true, result }
    if (deprecated !== undefined) outcome.deprecated = deprecated
    if (notes.length > 0) outcome.note = notes.join('; ')
    return outcome
  } catch (error) {
    const instance = workings.ids.next()
    const problem = toProblem(error, instance)
    if (problem.code === 'internal') {
      workings.log.error({ err: error, instance, ...name, identity: caller.identity }, 'an action broke')
    }
    tell('error', { ...name, agent_id, run_id, error: problem.code })
    finish(false, { error: problem.code, instance })
    return { ok: false, problem }
  }
}

/** A person's views call as the operator or as an observer, in the name of no agent and outside any run. */
function isView({ kind }: Caller, { agent_id, run_id }: DispatchContext): boolean {
  return (kind === 'operator' || kind === 'observer') && agent_id === ANONYMOUS_AGENT && run_id === null
}

function deprecationOf({ facade, name, alias }: Found): Deprecated | undefined {
  return alias === undefined ? undefined : { name: alias, facade: facade.name, action: name }
}

/** What nobody said: an anonymous agent outside any run. */
export function fullContext(told: CallerContext | undefined): DispatchContext {
  return {
    agent_id: told?.agent_id ?? ANONYMOUS_AGENT,
    run_id: told?.run_id ?? null,
    parent_call_id: told?.parent_call_id ?? null,
    scope: told?.scope ?? null,
  }
}

function parseInput(
  { action, adapt }: Found,
  told: unknown,
  { depth }: Standing,
): { value: unknown; note: string | undefined } {
  // What comes from outside has been looked at. A call within puts parts of it into others.
  if (depth > 0 && isDeeper(told, LIMITS.wire_depth_max)) {
    throw new TurnbellError('params_invalid', {
      detail: `The parameters are nested more than ${LIMITS.wire_depth_max} deep.`,
    })
  }
  const given = told ?? {}
  const params = adapt !== undefined && isObject(given) ? adapt(given) : given
  return fittedAsMeant(action.input, params)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An output that breaks its own schema is a bug of ours, never the caller's. */
function parseOutput(schema: z.ZodType, output: unknown): Json {
  return schema.parse(output) as Json
}
