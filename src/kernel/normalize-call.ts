/** Normalizes calls by models: a name and arguments in one of several forms. */
import { jsonInParams } from '../contracts/validation/json.ts'
import type { Registry } from './registry.ts'

/** A normalized call for dispatch. */
export interface NamedCall {
  facade: string
  action?: string
  params: unknown
}

/** `name` is a facade, with `action` and `params` in the arguments, or a direct name. */
export function spokenCall(registry: Registry, name: string, args: unknown): NamedCall {
  const facade = registry.facade(name)
  const call =
    facade === null ? { facade: name, params: parsedOrItself(args) } : facadeCall(facade.name, args)
  const params = paramsForModel(registry, call)
  return params === undefined ? call : { ...call, params }
}

/** Returns undefined if nothing has to be added. Unknown names and invalid parameters are left to dispatch. */
function paramsForModel(registry: Registry, { facade, action, params = {} }: NamedCall): unknown {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return undefined
  try {
    return registry.resolve(facade, action).action.own_tool?.meant?.(params as Record<string, unknown>)
  } catch {
    return undefined
  }
}

/**
 * Accepts parameters without the nesting, and `params` as JSON text, because models make both mistakes and the meaning is
 * clear. The strict schema still validates the content.
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

/** Text with a number that JSON would round stays text. */
function parsedOrItself(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return jsonInParams(value)
  } catch {
    return value
  }
}
