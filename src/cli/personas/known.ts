/** Known personas, and messages about an unknown name. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { nearest } from '../../contracts/text/names.ts'
import type { Invocation } from '../cli.ts'
import { personasAtHub } from './persona-api.ts'
import { personasOfHome } from './of-home.ts'

/** Returns the personas of this home, and those that only the hub knows if it answers. */
export async function knownPersonas(invocation: Invocation): Promise<string[]> {
  const at_hub = await personasAtHub(invocation).catch((error: unknown) => {
    if (error instanceof TurnbellError) return []
    throw error
  })
  return [...new Set([...personasOfHome(invocation), ...at_hub.map(({ identity }) => identity)])]
}

/** Returns `; did you mean ada?`, or a full stop if no name is similar. */
function suggestion(persona: string, known: readonly string[]): string {
  const meant = nearest(persona, known)
  return meant === null ? '.' : `; did you mean ${meant}?`
}

/** Returns a note for a name that does not exist yet and may be intended. */
export function unknownPersonaNote(persona: string, known: readonly string[]): string {
  return `There is no persona ${persona} yet${suggestion(persona, known)}`
}

/** Returns a handler that replaces `daemon_unreachable` by an error about the name if no such persona exists. */
export function unlessUnknown(invocation: Invocation, persona: string): (error: unknown) => Promise<never> {
  return async (error) => {
    if (!(error instanceof TurnbellError) || error.code !== 'daemon_unreachable') throw error
    const known = await knownPersonas(invocation)
    if (known.includes(persona)) throw error
    throw new TurnbellError('daemon_unreachable', {
      detail: `This home has no persona ${persona}, and no daemon of that name runs${suggestion(persona, known)}`,
      hint: 'Choose one of `turnbell status`, or add it with `turnbell persona add`.',
      cause: error,
    })
  }
}
