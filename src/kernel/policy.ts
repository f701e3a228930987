/**
 * Access decisions: which actions a caller may call, and which events it may read. Listing, searching, describing, calling,
 * all projections and all views of the event stream use these functions.
 */
import type { Action, Facade } from './define.ts'
import { nearest } from '../contracts/text/names.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { HubEvent } from '../contracts/events.ts'
import type { Narrowing } from '../contracts/http.ts'
import type { Caller } from '../contracts/token.ts'

/** Facets and features that the operator has enabled. The facets of a token replace those of the hub. */
export interface Grants {
  facets: readonly string[]
  pro: boolean
  /** Facades by intent; a call can be narrowed to an intent instead of facades. */
  intents: Readonly<Record<string, readonly string[]>>
}

/** A caller and the bounds of its call. */
export interface Asking {
  caller: Caller
  grants: Grants
  narrowing?: Bounds | undefined
}

export const GRANTS_DEFAULT: Grants = { facets: ['core'], pro: false, intents: {} }

/**
 * Returns why the caller may not call the action, or null. The grants apply to all callers including the operator, except
 * for facades `for_watchers`; the rule about kinds applies to all callers but the operator.
 *
 * The rule depends on the kind of the caller only, never on parameters: modules take the identity from the token.
 */
export function refusal(asking: Asking, facade: Facade, action: Action): TurnbellError | null {
  const { caller, narrowing = {} } = asking
  const closed = closedFacade(asking, facade)
  if (closed !== null) return closed
  if (narrowing.read_only === true && action.mutates && action.delegates !== true) {
    return new TurnbellError('read_only', {
      detail: `The call was narrowed to read-only actions, but this action of ${facade.name} changes something.`,
    })
  }
  if (caller.kind === 'operator' || action.allow.includes(caller.kind)) return null
  if (action.allow.length === 0) {
    return new TurnbellError('operator_required', {
      detail: `Only the operator may call this action of ${facade.name}; the caller is the ${caller.kind} ${caller.identity}.`,
    })
  }
  return new TurnbellError('kind_forbidden', {
    detail: `The caller is the ${caller.kind} ${caller.identity}; this action of ${facade.name} is for ${action.allow.join(', ')}.`,
  })
}

/** Returns why no action of the facade may be called, or null. */
export function closedFacade(asking: Asking, facade: Facade): TurnbellError | null {
  const { caller, grants, narrowing = {} } = asking
  if (facade.everywhere === true) return outsideFacades(narrowing.facades, facade)
  if (facade.pro === true && !grants.pro) {
    return new TurnbellError('pro_required', { detail: `${facade.name} is a pro facade.` })
  }
  const facets = facetsOf(asking)
  if (!facets.includes(facade.facet) && !isOpenToWatcher(caller, facade)) {
    return new TurnbellError('facet_forbidden', {
      detail: `${facade.name} belongs to the facet ${facade.facet}; available facets: ${facets.join(', ') || 'none'}.`,
    })
  }
  if (narrowing.facets !== undefined && !narrowing.facets.includes(facade.facet)) {
    return new TurnbellError('facet_forbidden', {
      detail: `${facade.name} belongs to the facet ${facade.facet}; the call was narrowed to ${narrowing.facets.join(', ') || 'none'}.`,
      hint: 'Call without this narrowing, or use a facade inside it.',
    })
  }
  return outsideFacades(narrowing.facades, facade)
}

/** A token that names facets is bound to them. */
function isOpenToWatcher({ kind, facets }: Caller, { for_watchers }: Facade): boolean {
  return for_watchers === true && facets === undefined && (kind === 'operator' || kind === 'observer')
}

function facetsOf({ caller, grants }: Asking): readonly string[] {
  return caller.facets ?? grants.facets
}

/** Throws the refusal. */
export function permit(asking: Asking, facade: Facade, action: Action): void {
  const refused = refusal(asking, facade, action)
  if (refused !== null) throw refused
}

function outsideFacades(allowed: readonly string[] | undefined, facade: Facade): TurnbellError | null {
  if (allowed === undefined || allowed.includes(facade.name)) return null
  return new TurnbellError('facade_forbidden', {
    detail: `The call was narrowed to ${allowed.join(', ') || 'no facade'}; ${facade.name} is not among them.`,
  })
}

/** A narrowing with its intents resolved to facades. */
export type Bounds = Omit<Narrowing, 'intents'>

/** Throws `intent_unknown`, and `facet_forbidden` for an unavailable facet. */
export function boundsOf({ intents = [], ...rest }: Narrowing, asking: Asking): Bounds {
  const facets = facetsOf(asking)
  const closed = rest.facets?.find((facet) => !facets.includes(facet))
  if (closed !== undefined) {
    throw new TurnbellError('facet_forbidden', {
      detail: `The call was narrowed to the facet ${closed}; available facets: ${facets.join(', ') || 'none'}.`,
    })
  }
  return intents.map((intent) => facadesFor(intent, asking.grants)).reduce(narrower, rest)
}

/** Combines two narrowings. The result allows only what both allow. */
export function narrower<B extends Narrowing>(one: B, other: Narrowing): B {
  const both = <K extends 'facets' | 'facades'>(key: K) => {
    const [mine, theirs] = [one[key], other[key]]
    if (mine === undefined || theirs === undefined) return mine ?? theirs
    return mine.filter((name) => theirs.includes(name))
  }
  const [facets, facades] = [both('facets'), both('facades')]
  const intents = [...(one.intents ?? []), ...(other.intents ?? [])]
  return {
    ...one,
    ...(facets === undefined ? {} : { facets }),
    ...(facades === undefined ? {} : { facades }),
    ...(intents.length === 0 ? {} : { intents }),
    ...(one.read_only === true || other.read_only === true ? { read_only: true } : {}),
  }
}

function facadesFor(intent: string, { intents }: Grants): Bounds {
  const facades = Object.hasOwn(intents, intent) ? intents[intent] : undefined
  if (facades === undefined) throw unknownIntent(intent, Object.keys(intents))
  return { facades: [...facades] }
}

function unknownIntent(intent: string, known: readonly string[]): TurnbellError {
  const near = nearest(intent, known)
  return new TurnbellError('intent_unknown', {
    detail: `There is no intent ${JSON.stringify(intent)} in the configuration. Known intents: ${known.join(', ') || 'none'}.`,
    ...(near === null ? {} : { hint: `Did you mean ${near}?` }),
  })
}

/** Returns whether the caller may read all events. */
export function mayReadAllEvents({ kind }: Caller): boolean {
  return kind === 'operator' || kind === 'observer'
}

/** All callers may read presence and coordination events and their own; observers and the operator also those of others. */
export function mayReadEvent(
  caller: Caller,
  { type, agent_id }: Pick<HubEvent, 'type' | 'agent_id'>,
): boolean {
  return mayReadAllEvents(caller) || agent_id === caller.identity || PUBLIC_EVENTS.test(type)
}

const PUBLIC_EVENTS = /^(peer|persona|hub|lease|coordinator)\.|^agent\.(un)?blocked$/
