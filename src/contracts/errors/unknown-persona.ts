/** The error for a persona that does not exist. */
import { TurnbellError } from './errors.ts'
import type { Identity } from '../ids.ts'
import { nearest } from '../text/names.ts'

/** Returns a `target_unknown` that suggests the most similar name. */
export function unknownPersona(
  identity: Identity,
  { known, hint }: { known: Iterable<Identity>; hint?: string },
): TurnbellError {
  const similar = nearest(identity, known)
  return new TurnbellError('target_unknown', {
    detail: `There is no persona ${identity}${similar === null ? '.' : `; did you mean ${similar}?`}`,
    ...(hint === undefined ? {} : { hint }),
  })
}

/** Returns the hint for creating a persona. */
export const personaAddHint = (identity: Identity, surface: string): string =>
  `Create it with \`turnbell persona add ${identity} --surface ${surface}\`.`
