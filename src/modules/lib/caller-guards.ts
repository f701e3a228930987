/** Checks of what a caller may do, by the kind and identity in its token; parameters never decide. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import {
  ANONYMOUS_SESSION_PREFIX,
  type Identity,
  type SessionId,
  type SurfaceKind,
} from '../../contracts/ids.ts'
import type { Persona } from '../../contracts/registry.ts'
import type { Origin } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'

/** Only the operator and agents send; daemons ring and observers read. */
export function requireSender(caller: Caller, verb: string): void {
  if (caller.kind === 'agent' || caller.kind === 'operator') return
  throw new TurnbellError('kind_forbidden', {
    detail: `The ${caller.kind} of ${caller.identity} may not ${verb}; only its agent and the operator may.`,
  })
}

/** Only an agent drains its queue, and the operator the queue of `operator`, because a drain acknowledges signals. */
export function requireAgent(caller: Caller): void {
  if (caller.kind === 'agent' || caller.kind === 'operator') return
  throw new TurnbellError('kind_forbidden', {
    detail: `Only an agent may drain its queue; the caller is the ${caller.kind} of ${caller.identity}.`,
  })
}

/** Every caller but a daemon may read bodies; a daemon must never hold a payload. */
export function requireReader(caller: Caller, verb: string): void {
  if (caller.kind !== 'daemon') return
  throw new TurnbellError('kind_forbidden', {
    detail: `The daemon of ${caller.identity} may not ${verb}; daemons never hold the payload of a signal.`,
  })
}

/** Sender of a signal as the signal shows it. Only the operator may name another sender. */
export function senderOf(caller: Caller, from: Identity | undefined): { from: Identity; origin: Origin } {
  if (caller.kind === 'operator') return { from: from ?? 'operator', origin: 'human' }
  if (from !== undefined && from !== caller.identity) {
    throw new TurnbellError('identity_mismatch', {
      detail: `The token belongs to ${caller.identity}; it cannot send as ${from}.`,
      hint: 'Leave out `from`.',
    })
  }
  return { from: caller.identity, origin: 'agent' }
}

/** Session of the caller. Agents that name no session share one per persona, so that their leases have an owner. */
export function sessionOf(caller: Caller): SessionId {
  return caller.session_id ?? `${ANONYMOUS_SESSION_PREFIX}${caller.identity}`
}

/**
 * Whether a lease belongs to another session of the caller's persona; only that session may settle it. Sessions without
 * a name cannot be distinguished, so they are treated as the same. The operator may settle any lease.
 */
export function belongsToOtherSession(
  { kind, session_id }: Caller,
  leased_to: SessionId | undefined,
): boolean {
  if (kind !== 'agent' || session_id === undefined || leased_to === undefined) return false
  return leased_to !== session_id && !leased_to.startsWith(ANONYMOUS_SESSION_PREFIX)
}

/** Personas by name, as in the persona registry. */
interface PersonaLookup {
  get(identity: Identity): Pick<Persona, 'state'> | null
}

/**
 * Creates the persona of an agent on its first call. Returns null without waiting where the persona exists, which keeps
 * the order of calls. Throws `persona_wrapped`.
 */
export function ensureOwnPersona(
  deps: { personas: PersonaLookup & { ensure(identity: Identity, surface: SurfaceKind): Promise<unknown> } },
  caller: Caller,
): Promise<void> | null {
  if (caller.kind !== 'agent') return null
  if (deps.personas.get(caller.identity) === null)
    return deps.personas.ensure(caller.identity, 'mcp').then(() => undefined)
  requireActive(deps, caller)
  return null
}

/** Throws `persona_wrapped`. Check again after an await, because a persona may be wrapped meanwhile. */
export function requireActive(
  deps: { personas: PersonaLookup },
  { identity }: Pick<Caller, 'identity'>,
): void {
  const state = deps.personas.get(identity)?.state ?? 'active'
  if (state !== 'active') throw new TurnbellError('persona_wrapped', { detail: `${identity} is ${state}.` })
}
