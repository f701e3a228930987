/** A call as a model says it: a name and arguments, in any of the ways in which it may be meant. */
import { wireJson } from '../contracts/json.ts'
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
  if (facade === null) return { facade: name, params: parsedOrItself(args) }
  return facadeCall(facade.name, args)
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

function parsedOrItself(told: unknown): unknown {
  if (typeof told !== 'string') return told
  try {
    return wireJson(told)
  } catch {
    return told
  }
}
