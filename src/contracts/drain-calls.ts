/**
 * Detection of tool calls that drain the queue.
 *
 * An action has many names that only the hub's kernel knows. Components between an agent and the hub must know those of
 * the drain, because signals are delivered only once. This list is complete: in a batch, a routine or an action of a
 * plugin the kernel does not deliver signals.
 */
import { parseJsonOrNull } from './validation/json.ts'
import { toSnakeCase } from './text/names.ts'

/** Name of the drain in the hub's tool list; clients add a prefix. */
export const DRAIN_TOOL = 'signals_pending'
export const DRAIN_OLD_NAMES = ['prism_signals_pending'] as const

/** Tools whose arguments contain the action. */
const FACADES: ReadonlySet<string> = new Set(['signals', 'tool'])
const INVOKE = 'tool_invoke'
const DRAINS: ReadonlySet<string> = new Set([DRAIN_TOOL, ...DRAIN_OLD_NAMES])

type Fields = Record<string, unknown>

/** Resolves a tool call to the direct name of an action and its parameters. */
export function resolveCall(tool: string, args: unknown): { name: string; params: Fields } {
  let [name, params] = [toSnakeCase(tool), fieldsIn(args)]
  for (;;) {
    if (FACADES.has(name)) {
      const { action, params: inner, ...rest } = params
      ;[name, params] = [
        `${name}_${toSnakeCase(textOf(action))}`,
        inner === undefined ? rest : fieldsIn(inner),
      ]
    }
    if (name !== INVOKE) return { name, params }
    ;[name, params] = [toSnakeCase(textOf(params['name'])), fieldsIn(params['args'])]
  }
}

/** Whether the call drains the queue or peeks at it. */
export function isQueueCall(tool: string, args: unknown): boolean {
  return DRAINS.has(resolveCall(tool, args).name)
}

/** Whether the call drains. A peek does not; small models write its flag as text, which the hub accepts. */
export function isDrain(tool: string, args: unknown): boolean {
  const { name, params } = resolveCall(tool, args)
  return DRAINS.has(name) && params['peek'] !== true && params['peek'] !== 'true'
}

/** Models sometimes write objects as text, which the hub accepts. */
function fieldsIn(value: unknown): Fields {
  const object = typeof value === 'string' ? parseJsonOrNull(value) : value
  return typeof object === 'object' && object !== null && !Array.isArray(object) ? (object as Fields) : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
