/** Who may do what with signals. Told from the token, never from a parameter. */
import { TurnbellError } from '../../contracts/errors.ts'
import { ANONYMOUS_SESSION_PREFIX, type Identity, type SessionId } from '../../contracts/ids.ts'
import type { Origin } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import type { PersonaRegistry } from '../registry/personas.ts'

/** Only the operator and agents speak; a daemon rings and an observer looks. */
export function requireSpeaker(caller: Caller, verb: string): void {
  if (caller.kind === 'agent' || caller.kind === 'operator') return
  throw new TurnbellError('kind_forbidden', {
    detail: `The ${caller.kind} of ${caller.identity} may not ${verb}.`,
  })
}

/** A drain is the acknowledgment: the agent drains its own queue, and the operator the one of `operator`. */
export function requireAgent(caller: Caller): void {
  if (caller.kind === 'agent' || caller.kind === 'operator') return
  throw new TurnbellError('kind_forbidden', {
    detail: `Only the persona's agent drains, and the caller is the ${caller.kind} ${caller.identity}.`,
  })
}

/** Reading bodies: everybody but a daemon, which must never hold a payload. */
export function requireReader(caller: Caller, verb: string): void {
  if (caller.kind !== 'daemon') return
  throw new TurnbellError('kind_forbidden', {
    detail: `The daemon of ${caller.identity} may not ${verb}: a daemon never holds what a signal says.`,
  })
}

/** The sender as the signal shows it. Only the operator may name another. */
export function senderOf(caller: Caller, from: Identity | undefined): { from: Identity; origin: Origin } {
  if (caller.kind === 'operator') return { from: from ?? 'operator', origin: 'human' }
  if (from !== undefined && from !== caller.identity) {
    throw new TurnbellError('identity_mismatch', {
      detail: `The token is ${caller.identity}'s; it cannot send as ${from}.`,
      hint: 'Leave out `from`: the token says who sends.',
    })
  }
  return { from: caller.identity, origin: 'agent' }
}

/** Agents that name no session share one, so that their leases still belong to somebody. */
export function sessionOf(caller: Caller): SessionId {
  return caller.session_id ?? `${ANONYMOUS_SESSION_PREFIX}${caller.identity}`
}

/** An agent's first call makes its persona. Waits only then: a known persona keeps the order of calls. */
export function ensureOwnPersona(
  needs: { personas: Pick<PersonaRegistry, 'get' | 'ensure'> },
  caller: Caller,
): Promise<void> | null {
  if (caller.kind !== 'agent') return null
  if (needs.personas.get(caller.identity) === null)
    return needs.personas.ensure(caller.identity, 'mcp').then(() => undefined)
  requireActive(needs, caller)
  return null
}

/** Throws for a persona that was wrapped, as one may be while something else is waited for. */
export function requireActive(
  needs: { personas: Pick<PersonaRegistry, 'get'> },
  { identity }: Pick<Caller, 'identity'>,
): void {
  const state = needs.personas.get(identity)?.state ?? 'active'
  if (state !== 'active') throw new TurnbellError('persona_wrapped', { detail: `${identity} is ${state}.` })
}
