/**
 * Everything this turnbell can do, by every name it was ever called.
 *
 * One table resolves them all: `<facade>_<action>` in snake and camel case, old names, and the pair of
 * facade and action. Two declarations that claim one name are a mistake of ours and refuse to start.
 */
import type { Facade, Found } from './define.ts'
import { nearest, snake } from '../contracts/names.ts'
import type { RecordKind } from '../contracts/records.ts'
import { TurnbellError } from '../contracts/errors.ts'

export interface Registry {
  facades: readonly Facade[]
  /** Every action once, in the order of the declarations. */
  actions: readonly Found[]
  /** Every kind of record: those that facades declare, then those of nobody's. */
  kinds: readonly RecordKind[]
  facade(name: string): Facade | null
  /**
   * A facade and its action, or one direct name. Throws `facade_unknown` or `action_unknown`, naming what
   * there is and what was probably meant.
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
    requireForm(facade.name)
    if (byFacade.has(facade.name)) throw new Error(`two facades are called ${facade.name}`)
    byFacade.set(facade.name, facade)
    for (const [name, action] of Object.entries(facade.actions)) {
      requireForm(name)
      const found: Found = { facade, name, action }
      actions.push(found)
      claim(`${facade.name}_${name}`, found)
    }
  }
  // After all of today's names, so that the message names the alias as the one that came too late.
  for (const found of actions) {
    for (const alias of found.action.aliases ?? []) {
      if (typeof alias === 'string') {
        claim(snake(alias), { ...found, alias })
        continue
      }
      // Another spelling of today's name, whose parameters had another spelling too.
      const spelled =
        snake(alias.name) === `${found.facade.name}_${found.name}` ? alias.name : snake(alias.name)
      claim(spelled, { ...found, alias: alias.name, adapt: alias.params })
    }
  }

  // A call by that name would find the facade, and the action never again.
  for (const { name } of facades) {
    const holder = byName.get(name)
    if (holder === undefined) continue
    throw new Error(`the facade ${name} has the name of the action ${holder.facade.name}.${holder.name}`)
  }

  return {
    facades,
    actions,
    kinds: [...facades.flatMap((facade) => facade.kinds ?? []), ...kinds],
    facade: (name) => byFacade.get(name) ?? byFacade.get(snake(name)) ?? null,
    resolve(facade, action) {
      const name = action === undefined ? facade : `${facade}_${action}`
      const found = byName.get(name) ?? byName.get(snake(name))
      if (found !== undefined) return found
      throw action === undefined
        ? unknownDirectName(byFacade, byName, facade)
        : unknownAction(byFacade, facade, action)
    },
  }
}

/** A name that begins with a facade's is about that facade, whatever the rest of it is. */
function unknownDirectName(
  byFacade: ReadonlyMap<string, Facade>,
  byName: ReadonlyMap<string, Found>,
  name: string,
): TurnbellError {
  const whole = snake(name)
  const facade = byFacade.get(whole)
  if (facade !== undefined) {
    return new TurnbellError('action_unknown', {
      detail: `${facade.name} needs an action: ${Object.keys(facade.actions).join(', ')}.`,
      hint: 'Name one of them as `action`.',
    })
  }
  const begun = [...byFacade.values()].find((one) => whole.startsWith(`${one.name}_`))
  // A typo may sit in either half.
  const meant = nearest(name, [...byFacade.keys(), ...todaysNames(byName)])
  if (begun !== undefined) return noSuchAction(begun, whole.slice(begun.name.length + 1), meant)
  return noSuchFacade(byFacade, name, meant)
}

function unknownAction(byFacade: ReadonlyMap<string, Facade>, facade: string, action: string): TurnbellError {
  const known = byFacade.get(snake(facade))
  if (known === undefined) return noSuchFacade(byFacade, facade, nearest(facade, byFacade.keys()))
  return noSuchAction(known, action, nearest(action, Object.keys(known.actions)))
}

function noSuchFacade(
  byFacade: ReadonlyMap<string, Facade>,
  name: string,
  meant: string | null,
): TurnbellError {
  return new TurnbellError('facade_unknown', {
    detail: `There is no facade ${quote(name)}. There are: ${[...byFacade.keys()].join(', ')}.`,
    ...(meant === null ? {} : { hint: `Did you mean ${meant}?` }),
  })
}

function noSuchAction({ name, actions }: Facade, action: string, meant: string | null): TurnbellError {
  return new TurnbellError('action_unknown', {
    detail: `${name} has no action ${quote(action)}. It has: ${Object.keys(actions).join(', ')}.`,
    ...(meant === null ? {} : { hint: `Did you mean ${meant}?` }),
  })
}

function* todaysNames(byName: ReadonlyMap<string, Found>): Iterable<string> {
  for (const [name, found] of byName) if (name === `${found.facade.name}_${found.name}`) yield name
}

function quote(name: string): string {
  return JSON.stringify(name.length > 64 ? `${name.slice(0, 64)}…` : name)
}

function requireForm(name: string): void {
  if (!NAME_FORM.test(name)) throw new Error(`${name} is no name for a facade or an action: lower_case words`)
}
