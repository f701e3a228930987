/**
 * Resolves the names of facades and actions, including deprecated ones.
 *
 * One table contains `<facade>_<action>` in snake and camel case, deprecated names, and pairs of facade and action. Two
 * declarations with one name are a bug, so the hub refuses to start.
 */
import type { Facade, Found } from './define.ts'
import { nearest, toSnakeCase } from '../contracts/text/names.ts'
import type { RecordKind } from '../contracts/memory/records.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'

export interface Registry {
  facades: readonly Facade[]
  /** Every action once, in the order of declaration. */
  actions: readonly Found[]
  /** Every kind of record: those of facades, then the others. */
  kinds: readonly RecordKind[]
  facade(name: string): Facade | null
  /**
   * Resolves a facade and its action, or one direct name. Throws `facade_unknown` or `action_unknown` with the known and
   * the nearest names.
   */
  resolve(facade: string, action?: string): Found
}

const NAME_FORM = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/

export function createRegistry(facades: readonly Facade[], kinds: readonly RecordKind[] = []): Registry {
  const byFacade = new Map<string, Facade>()
  const byName = new Map<string, Found>()
  const claim = (name: string, found: Found) => {
    const holder = byName.get(name)
    if (holder !== undefined) {
      throw new Error(
        `the name ${name} is claimed by ${holder.facade.name}.${holder.name} and by ${found.facade.name}.${found.name}`,
      )
    }
    byName.set(name, found)
  }

  const actions: Found[] = []
  for (const facade of facades) {
    assertNameForm(facade.name)
    if (byFacade.has(facade.name)) throw new Error(`two facades are called ${facade.name}`)
    byFacade.set(facade.name, facade)
    for (const [name, action] of Object.entries(facade.actions)) {
      assertNameForm(name)
      const found: Found = { facade, name, action }
      actions.push(found)
      claim(`${facade.name}_${name}`, found)
    }
  }
  // After all current names, so that a conflict is reported for the alias.
  for (const found of actions) {
    for (const alias of found.action.aliases ?? []) {
      if (typeof alias === 'string') {
        claim(toSnakeCase(alias), { ...found, alias })
        continue
      }
      // Another spelling of the current name, with other parameters.
      const spelled =
        toSnakeCase(alias.name) === `${found.facade.name}_${found.name}`
          ? alias.name
          : toSnakeCase(alias.name)
      claim(spelled, { ...found, alias: alias.name, adapt: alias.params })
    }
  }

  // A call by that name would always resolve to the facade.
  for (const { name } of facades) {
    const holder = byName.get(name)
    if (holder === undefined) continue
    throw new Error(`the facade ${name} has the name of the action ${holder.facade.name}.${holder.name}`)
  }

  return {
    facades,
    actions,
    kinds: [...facades.flatMap((facade) => facade.kinds ?? []), ...kinds],
    facade: (name) => byFacade.get(name) ?? byFacade.get(toSnakeCase(name)) ?? null,
    resolve(facade, action) {
      const name = action === undefined ? facade : `${facade}_${action}`
      const found = byName.get(name) ?? byName.get(toSnakeCase(name))
      if (found !== undefined) return found
      throw action === undefined
        ? unknownDirectName(byFacade, byName, facade)
        : unknownAction(byFacade, facade, action)
    },
  }
}

/** A name that begins with the name of a facade is reported as an unknown action of that facade. */
function unknownDirectName(
  byFacade: ReadonlyMap<string, Facade>,
  byName: ReadonlyMap<string, Found>,
  name: string,
): TurnbellError {
  const whole = toSnakeCase(name)
  const facade = byFacade.get(whole)
  if (facade !== undefined) {
    return new TurnbellError('action_unknown', {
      detail: `${facade.name} needs an action: ${Object.keys(facade.actions).join(', ')}.`,
      hint: 'Pass one of them as `action`.',
    })
  }
  const begun = [...byFacade.values()].find((one) => whole.startsWith(`${one.name}_`))
  // The typo may be in either part.
  const similar = nearest(name, [...byFacade.keys(), ...currentNames(byName)])
  if (begun !== undefined) return noSuchAction(begun, whole.slice(begun.name.length + 1), similar)
  return noSuchFacade(byFacade, name, similar)
}

function unknownAction(byFacade: ReadonlyMap<string, Facade>, facade: string, action: string): TurnbellError {
  const known = byFacade.get(toSnakeCase(facade))
  if (known === undefined) return noSuchFacade(byFacade, facade, nearest(facade, byFacade.keys()))
  return noSuchAction(known, action, nearest(action, Object.keys(known.actions)))
}

function noSuchFacade(
  byFacade: ReadonlyMap<string, Facade>,
  name: string,
  similar: string | null,
): TurnbellError {
  return new TurnbellError('facade_unknown', {
    detail: `There is no facade ${quote(name)}. Known facades: ${[...byFacade.keys()].join(', ')}.`,
    ...(similar === null ? {} : { hint: `Did you mean ${similar}?` }),
  })
}

function noSuchAction({ name, actions }: Facade, action: string, similar: string | null): TurnbellError {
  return new TurnbellError('action_unknown', {
    detail: `${name} has no action ${quote(action)}. It has: ${Object.keys(actions).join(', ')}.`,
    ...(similar === null ? {} : { hint: `Did you mean ${similar}?` }),
  })
}

function* currentNames(byName: ReadonlyMap<string, Found>): Iterable<string> {
  for (const [name, found] of byName) if (name === `${found.facade.name}_${found.name}`) yield name
}

function quote(name: string): string {
  return JSON.stringify(name.length > 64 ? `${name.slice(0, 64)}…` : name)
}

function assertNameForm(name: string): void {
  if (!NAME_FORM.test(name))
    throw new Error(`${name} is not a valid name of a facade or an action: expected lower_case words`)
}
