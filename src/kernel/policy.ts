/**
 * The access decisions: who may call what, and who hears of what. Listing, calling, every projection and
 * every view of the event stream ask here and nowhere else.
 */
import type { Action, Facade } from './define.ts'
import { TurnbellError } from '../contracts/errors.ts'
import type { HubEvent } from '../contracts/events.ts'
import type { Caller } from '../contracts/token.ts'

/**
 * Why this caller may not call this action, or null.
 *
 * A kind rule, never an identity rule: whose queue is meant is told from the token by the module, so
 * there is nothing here that a parameter could talk into another answer.
 */
export function refusal(
  caller: Caller,
  facade: Facade,
  action: Action,
  allowed_facades?: readonly string[],
): TurnbellError | null {
  if (allowed_facades !== undefined && !allowed_facades.includes(facade.name)) {
    return new TurnbellError('facade_forbidden', {
      detail: `The call was narrowed to ${allowed_facades.join(', ') || 'no facade'}; ${facade.name} is not among them.`,
    })
  }
  if (caller.kind === 'operator' || action.allow.includes(caller.kind)) return null
  if (action.allow.length === 0) {
    return new TurnbellError('operator_required', {
      detail: `${facade.name} has actions that only the operator may call, and the caller is the ${caller.kind} ${caller.identity}.`,
    })
  }
  return new TurnbellError('kind_forbidden', {
    detail: `The caller is the ${caller.kind} ${caller.identity}; this action of ${facade.name} is for ${action.allow.join(', ')}.`,
  })
}

/** Throws the refusal. */
export function permit(
  caller: Caller,
  facade: Facade,
  action: Action,
  allowed_facades?: readonly string[],
): void {
  const refused = refusal(caller, facade, action, allowed_facades)
  if (refused !== null) throw refused
}

/** An observer looks at everything; that is all it does. */
export function hearsAll({ kind }: Caller): boolean {
  return kind === 'operator' || kind === 'observer'
}

/** Who came and went is for everybody; what others send and do is for observers. */
export function mayHear(caller: Caller, { type, agent_id }: Pick<HubEvent, 'type' | 'agent_id'>): boolean {
  return hearsAll(caller) || agent_id === caller.identity || /^(peer|persona|hub)\./.test(type)
}
