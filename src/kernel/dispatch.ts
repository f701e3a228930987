/**
 * How any action runs: resolve, permit, validate, handle, validate, tell.
 *
 * There is one path for every transport. It knows no facade, and it never throws: what went wrong
 * comes back as the problem that every transport can send as it stands.
 */
import type { z } from 'zod'
import { describeParams } from './describe.ts'
import { permit } from './policy.ts'
import { createRegistry, type Found, type Registry } from './registry.ts'
import type { CallContext, DispatchContext, Facade } from './define.ts'
import { toProblem, TurnbellError, type Problem } from '../contracts/errors.ts'
import type { Json } from '../contracts/ids.ts'
import type { CallerContext } from '../contracts/http.ts'
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
  /** Narrows this one call to these facades; others are refused with `facade_forbidden`. */
  allowed_facades?: readonly string[] | undefined
}

export type DispatchOutcome = { ok: true; result: Json } | { ok: false; problem: Problem }

/** One line of logs/dispatch.jsonl. */
export interface DispatchLine {
  timestamp: string
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
  /** Never rejects. */
  dispatch(request: DispatchRequest): Promise<DispatchOutcome>
}

const NAME_SHOWN_MAX = 64

export function createKernel(options: KernelOptions): Kernel {
  const registry = createRegistry(options.facades)
  return { registry, dispatch: (request) => dispatch(registry, options, request) }
}

async function dispatch(
  registry: Registry,
  options: KernelOptions,
  request: DispatchRequest,
): Promise<DispatchOutcome> {
  const { clock } = options
  const { caller } = request
  const started = clock.monotonic()
  const context = fullContext(request.context)
  // Until it resolves, a name is whatever the caller wrote, and every reader of the stream would carry it.
  const name = {
    facade: request.facade.slice(0, NAME_SHOWN_MAX),
    action: (request.action ?? '').slice(0, NAME_SHOWN_MAX),
  }
  const who = { agent_id: context.agent_id, run_id: context.run_id }
  const tell = (type: string, data: Record<string, Json>) =>
    options.events.append({
      type,
      // Whom it is about is told from the token; what the caller says of itself stays in the data.
      agent_id: caller.identity,
      data: { ...name, ...who, ...data },
    })
  const finish = (success: boolean, failure: { error?: string; instance?: string }) => {
    const duration_ms = Math.round((clock.monotonic() - started) * 1000) / 1000
    tell('result', { duration_ms, success })
    options.line?.({
      timestamp: timestamp(clock),
      ...name,
      identity: caller.identity,
      kind: caller.kind,
      ...context,
      duration_ms,
      success,
      ...failure,
    })
  }

  try {
    options.seen?.(caller)
    const found = registry.resolve(request.facade, request.action)
    name.facade = found.facade.name
    name.action = found.name
    tell('dispatch', { timestamp: timestamp(clock) })
    permit(caller, found.facade, found.action, request.allowed_facades)
    const input = parseInput(found, request.params)
    const callContext: CallContext = { ...options.modules, caller, context, answered: request.answered }
    const output: unknown = await found.action.handle(input, callContext)
    const result = parseOutput(found.action.output, output)
    finish(true, {})
    return { ok: true, result }
  } catch (error) {
    const instance = options.ids.next()
    const problem = toProblem(error, instance)
    if (problem.code === 'internal') {
      options.log.error({ err: error, instance, ...name, identity: caller.identity }, 'an action broke')
    }
    tell('error', { error: problem.code })
    finish(false, { error: problem.code, instance })
    return { ok: false, problem }
  }
}

/** What nobody said: an anonymous agent outside any run. */
export function fullContext(told: CallerContext | undefined): DispatchContext {
  return {
    agent_id: told?.agent_id ?? 'anonymous',
    run_id: told?.run_id ?? null,
    parent_call_id: told?.parent_call_id ?? null,
    scope: told?.scope ?? null,
  }
}

function parseInput({ action, adapt }: Found, told: unknown): unknown {
  const given = told ?? {}
  const params = adapt !== undefined && isObject(given) ? adapt(given) : given
  const parsed = safeParse(action.input, params)
  if (parsed.success) return parsed.data
  throw new TurnbellError('params_invalid', {
    detail: describeParams(action.input, params, parsed.error),
    cause: parsed.error,
  })
}

/** A value nested thousands of levels deep overflows the stack of any recursive reader; the caller sent it. */
function safeParse(schema: z.ZodType, params: unknown): z.ZodSafeParseResult<unknown> {
  try {
    return schema.safeParse(params)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new TurnbellError('params_invalid', {
      detail: 'params: nested too deeply to be read',
      cause: error,
    })
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An output that breaks its own schema is a bug of ours, never the caller's. */
function parseOutput(schema: z.ZodType, output: unknown): Json {
  return schema.parse(output) as Json
}
