/** Known personas, for messages about an unknown name. */
import { TurnbellError } from '../../contracts/errors.ts'
import { nearest } from '../../contracts/names.ts'
import type { Invocation } from '../cli.ts'
import { personasAtHub } from './listing.ts'
import { personasOfHome } from './of-home.ts'

/** Those of this home, and those that only the hub knows, where it answers. */
export async function knownPersonas(invocation: Invocation): Promise<string[]> {
  const at_hub = await personasAtHub(invocation).catch((error: unknown) => {
    if (error instanceof TurnbellError) return []
    throw error
  })
  return [...new Set([...personasOfHome(invocation), ...at_hub.map(({ identity }) => identity)])]
}

/** `; did you mean ada?`, or nothing. */
export function orMeant(persona: string, known: readonly string[]): string {
  const meant = nearest(persona, known)
  return meant === null ? '' : `; did you mean ${meant}?`
}

/** Note for a name that does not exist yet and may be intended. */
export function notMade(persona: string, known: readonly string[]): string {
  return `There is no persona ${persona} yet${orMeant(persona, known) || '.'}`
}

/** Rejects in the place of a daemon that does not answer: it may be one that never was. */
export function unlessUnknown(invocation: Invocation, persona: string): (error: unknown) => Promise<never> {
  return async (error) => {
    if (!(error instanceof TurnbellError) || error.code !== 'daemon_unreachable') throw error
    const known = await knownPersonas(invocation)
    if (known.includes(persona)) throw error
    throw new TurnbellError('daemon_unreachable', {
      detail: `This home has no persona ${persona}, and no daemon of that name runs${orMeant(persona, known) || '.'}`,
      hint: '`turnbell status` shows those there are; `turnbell persona add` makes one.',
      cause: error,
    })
  }
}
