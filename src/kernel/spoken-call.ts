/** A call as a model says it: a name and arguments, in any of the ways in which it may be meant. */
import { exactJson } from '../contracts/json.ts'
import type { Registry } from './registry.ts'

/** What dispatch is asked for. */
export interface NamedCall {
  facade: string
  action?: string
  params: unknown
}

/** `name` is a facade's, whose arguments hold `action` and `params`, or a direct name, old or new. */
export function spokenCall(registry: Registry, name: string, args: unknown): NamedCall {
  const facade = registry.facade(name)
  const call =
    facade === null ? { facade: name, params: parsedOrItself(args) } : facadeCall(facade.name, args)
  const meant = meaningOf(registry, call)
  return meant === undefined ? call : { ...call, params: meant }
}

/** Undefined where it means what it says. What nobody has declared, and what are no parameters, dispatch refuses. */
function meaningOf(registry: Registry, { facade, action, params = {} }: NamedCall): unknown {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return undefined
  try {
    return registry.resolve(facade, action).action.own_tool?.meant?.(params as Record<string, unknown>)
  } catch {
    return undefined
  }
}

/**
 * Models forget the nesting, or hand `params` over as JSON text. Both are meant clearly, so neither
 * costs a turn; the strict schema still judges what is in it.
 */
function facadeCall(facade: string, args: unknown): NamedCall {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    return { facade, action: '', params: args }
  const { action, params } = args as Record<string, unknown>
  const name = typeof action === 'string' ? action : ''
  if (params !== undefined) return { facade, action: name, params: parsedOrItself(params) }
  const { action: _, params: __, ...rest } = args as Record<string, unknown>
  return { facade, action: name, params: rest }
}

/** Text with a number that would be rounded stays text. */
function parsedOrItself(told: unknown): unknown {
  if (typeof told !== 'string') return told
  try {
    return exactJson(told)
  } catch {
    return told
  }
}
