/** Checks of what a caller may coordinate, by its token; a parameter can only name another persona. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import type { Caller } from '../../contracts/token.ts'
import type { PersonaRegistry } from '../registry/personas.ts'

/** Only agents register. The operator is not an agent, and a daemon is registered by its connection. */
export function requireOwnAgent(caller: Caller): void {
  if (caller.kind === 'agent') return
  throw new TurnbellError('kind_forbidden', {
    detail: `Only a persona's agent may register; the caller is the ${caller.kind} of ${caller.identity}.`,
    hint: 'Call with a token of kind agent. A daemon is registered by its connection.',
  })
}

/** Only agents subscribe, because broadcasts are stored in the queue of a persona. */
export function requirePersona(caller: Caller): void {
  if (caller.kind === 'agent') return
  throw new TurnbellError('kind_forbidden', {
    detail: `Only a persona's agent may subscribe; the caller is the ${caller.kind} of ${caller.identity}.`,
    hint: 'Call with a token of kind agent, or read GET /events.',
  })
}

export function requireOther(caller: Caller, identity: Identity): void {
  if (identity !== caller.identity) return
  throw new TurnbellError('params_invalid', {
    detail: `identity: ${identity} cannot block itself`,
    hint: 'Name the persona that has to wait for you.',
  })
}

export function requireActive(personas: Pick<PersonaRegistry, 'get'>, identity: Identity): void {
  const persona = personas.get(identity)
  if (persona === null)
    throw new TurnbellError('target_unknown', { detail: `There is no persona ${identity}.` })
  if (persona.state !== 'active')
    throw new TurnbellError('target_wrapped', { detail: `${identity} is ${persona.state}.` })
}

/** Returns the blocker whose blockings the caller ends; null for every blocker, which only the operator may end. */
export function blockerToEnd(caller: Caller, blocker: Identity | undefined): Identity | null {
  if (caller.kind === 'operator') return blocker ?? null
  if (blocker === undefined || blocker === caller.identity) return caller.identity
  throw new TurnbellError('identity_mismatch', {
    detail: `The token belongs to ${caller.identity}; only ${blocker} or the operator may end a blocking by ${blocker}.`,
    hint: `Ask ${blocker} with \`signals send\`.`,
  })
}
