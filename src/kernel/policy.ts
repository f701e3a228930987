/**
 * The access decisions: who may call what, and who hears of what. Listing, searching, describing, calling,
 * every projection and every view of the event stream ask here and nowhere else.
 */
import type { Action, Facade } from './define.ts'
import { nearest } from '../contracts/names.ts'
import { TurnbellError } from '../contracts/errors.ts'
import type { HubEvent } from '../contracts/events.ts'
import type { Narrowing } from '../contracts/http.ts'
import type { Caller } from '../contracts/token.ts'

/** What this hub offers: its operator's choice. A token may name other facets; then those count for its holder. */
export interface Grants {
  facets: readonly string[]
  pro: boolean
  /** What a call may be narrowed to by naming what it is for, instead of its facades. */
  intents: Readonly<Record<string, readonly string[]>>
}

/** Who asks, and within which bounds. */
export interface Asking {
  caller: Caller
  grants: Grants
  narrowing?: Bounds | undefined
}

export const GRANTS_DEFAULT: Grants = { facets: ['core'], pro: false, intents: {} }

/**
 * Why this caller may not call this action, or null. The grants bind everybody, the operator too; the
 * kind rule everybody else.
 *
 * A kind rule, never an identity rule: whose queue is meant is told from the token by the module, so
 * there is nothing here that a parameter could talk into another answer.
 */
export function refusal(asking: Asking, facade: Facade, action: Action): TurnbellError | null {
  const { caller, narrowing = {} } = asking
  const closed = closedFacade(asking, facade)
  if (closed !== null) return closed
  if (narrowing.read_only === true && action.mutates && action.delegates !== true) {
    return new TurnbellError('read_only', {
      detail: `The call was narrowed to what changes nothing; this action of ${facade.name} changes something.`,
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

/** Why nothing of this facade is open to the call, whatever the action; or null. */
export function closedFacade(asking: Asking, facade: Facade): TurnbellError | null {
  const { grants, narrowing = {} } = asking
  if (facade.everywhere === true) return outsideFacades(narrowing.facades, facade)
  if (facade.pro === true && !grants.pro) {
    return new TurnbellError('pro_required', { detail: `${facade.name} is a pro facade.` })
  }
  const facets = facetsOf(asking)
  if (!facets.includes(facade.facet)) {
    return new TurnbellError('facet_forbidden', {
      detail: `${facade.name} belongs to the facet ${facade.facet}; open are ${facets.join(', ') || 'none'}.`,
    })
  }
  if (narrowing.facets !== undefined && !narrowing.facets.includes(facade.facet)) {
    return new TurnbellError('facet_forbidden', {
      detail: `${facade.name} belongs to the facet ${facade.facet}; the call was narrowed to ${narrowing.facets.join(', ') || 'none'}.`,
      hint: 'Call without that narrowing, or use what it leaves.',
    })
  }
  return outsideFacades(narrowing.facades, facade)
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

/** What a narrowing comes to, its intents turned into the facades that they stand for. */
export type Bounds = Omit<Narrowing, 'intents'>

/** Throws `intent_unknown`, and `facet_forbidden` where it names a facet that nobody has here. */
export function boundsOf({ intents = [], ...rest }: Narrowing, asking: Asking): Bounds {
  const facets = facetsOf(asking)
  const closed = rest.facets?.find((facet) => !facets.includes(facet))
  if (closed !== undefined) {
    throw new TurnbellError('facet_forbidden', {
      detail: `The call was narrowed to the facet ${closed}; open are ${facets.join(', ') || 'none'}.`,
    })
  }
  return intents.map((intent) => facadesFor(intent, asking.grants)).reduce(narrower, rest)
}

/** Both at once: bounds only ever take away. */
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
    detail: `The configuration knows no intent ${JSON.stringify(intent)}; it has ${known.join(', ') || 'none'}.`,
    ...(near === null ? {} : { hint: `Did you mean ${near}?` }),
  })
}

/** An observer looks at everything; that is all it does. */
export function hearsAll({ kind }: Caller): boolean {
  return kind === 'operator' || kind === 'observer'
}

/** Who came and went and what agents coordinate is for everybody; what others send and do is for observers. */
export function mayHear(caller: Caller, { type, agent_id }: Pick<HubEvent, 'type' | 'agent_id'>): boolean {
  return hearsAll(caller) || agent_id === caller.identity || FOR_EVERYBODY.test(type)
}

const FOR_EVERYBODY = /^(peer|persona|hub|lease|coordinator)\.|^agent\.(un)?blocked$/
