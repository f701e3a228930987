/** Who may coordinate what. Told from the token; a parameter only ever names somebody else. */
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import type { Caller } from '../../contracts/token.ts'
import type { PersonaRegistry } from '../registry/personas.ts'

/** A row says that an agent is there. The operator is none, and a daemon's row is its link's. */
export function requireOwnAgent(caller: Caller): void {
  if (caller.kind === 'agent') return
  throw new TurnbellError('kind_forbidden', {
    detail: `Only a persona's agent registers, and the caller is the ${caller.kind} ${caller.identity}.`,
    hint: 'Call with a token of kind agent. A daemon is registered by its link.',
  })
}

/** What is broadcast waits in a persona's queue, and the operator has none. */
export function requirePersona(caller: Caller): void {
  if (caller.kind === 'agent') return
  throw new TurnbellError('kind_forbidden', {
    detail: `Only a persona's agent subscribes, and the caller is the ${caller.kind} ${caller.identity}.`,
    hint: 'Call with a token of kind agent; GET /events shows people what is sent.',
  })
}

export function requireOther(caller: Caller, identity: Identity): void {
  if (identity !== caller.identity) return
  throw new TurnbellError('params_invalid', {
    detail: 'identity: nobody blocks itself',
    hint: 'Name the persona that has to wait for you.',
  })
}

export function requireActive(personas: Pick<PersonaRegistry, 'get'>, identity: Identity): void {
  const persona = personas.get(identity)
  if (persona === null)
    throw new TurnbellError('target_unknown', { detail: `No persona is called ${identity}.` })
  if (persona.state !== 'active')
    throw new TurnbellError('target_wrapped', { detail: `${identity} is ${persona.state}.` })
}

/** Null for whoever it is. */
export function whoseBlocking(caller: Caller, blocker: Identity | undefined): Identity | null {
  if (caller.kind === 'operator') return blocker ?? null
  if (blocker === undefined || blocker === caller.identity) return caller.identity
  throw new TurnbellError('identity_mismatch', {
    detail: `The token is ${caller.identity}'s; it cannot take back what ${blocker} says.`,
    hint: `Ask ${blocker} with \`signals send\`.`,
  })
}
