/**
 * Which calls of tools take the signals that wait. An action has many names, and only the hub's kernel knows
 * them all; whoever stands between an agent and the hub must know these, because what a drain hands over is
 * handed over once. These are all: inside a batch, a routine or an action of a plugin the kernel hands
 * nothing over.
 */
import { jsonIn } from './json.ts'
import { snake } from './names.ts'

/** The drain by its own name, as the hub lists it; clients put a prefix of theirs before it. */
export const DRAIN_TOOL = 'signals_pending'
export const DRAIN_OLD_NAMES = ['prism_signals_pending'] as const

/** Their arguments say which action is meant. */
const FACADES: ReadonlySet<string> = new Set(['signals', 'tool'])
const INVOKE = 'tool_invoke'
const DRAINS: ReadonlySet<string> = new Set([DRAIN_TOOL, ...DRAIN_OLD_NAMES])

type Fields = Record<string, unknown>

/** What a tool call asks for in the end: an action by its direct name, and its parameters. */
export function askedFor(tool: string, args: unknown): { name: string; params: Fields } {
  let [name, params] = [snake(tool), fieldsIn(args)]
  for (;;) {
    if (FACADES.has(name)) {
      const { action, params: inner, ...rest } = params
      ;[name, params] = [`${name}_${snake(textOf(action))}`, inner === undefined ? rest : fieldsIn(inner)]
    }
    if (name !== INVOKE) return { name, params }
    ;[name, params] = [snake(textOf(params['name'])), fieldsIn(params['args'])]
  }
}

/** The call asks for the queue, to take from it or only to look. */
export function asksForQueue(tool: string, args: unknown): boolean {
  return DRAINS.has(askedFor(tool, args).name)
}

/** The call takes what waits. A peek does not; small models spell it as text, which the hub accepts. */
export function isDrain(tool: string, args: unknown): boolean {
  const { name, params } = askedFor(tool, args)
  return DRAINS.has(name) && params['peek'] !== true && params['peek'] !== 'true'
}

/** Models write objects as text now and then, and the hub reads them. */
function fieldsIn(told: unknown): Fields {
  const value = typeof told === 'string' ? jsonIn(told) : told
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
