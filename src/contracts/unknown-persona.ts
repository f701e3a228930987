/** How every command and action refuses a persona that does not exist. */
import { TurnbellError } from './errors.ts'
import type { Identity } from './ids.ts'
import { nearest } from './names.ts'

/** `target_unknown`, with the name that was probably meant. */
export function unknownPersona(
  identity: Identity,
  { known, hint }: { known: Iterable<Identity>; hint?: string },
): TurnbellError {
  const meant = nearest(identity, known)
  return new TurnbellError('target_unknown', {
    detail: `There is no persona ${identity}${meant === null ? '.' : `; did you mean ${meant}?`}`,
    ...(hint === undefined ? {} : { hint }),
  })
}

/** What makes one on purpose. */
export const makePersona = (identity: Identity, surface: string): string =>
  `\`turnbell persona add ${identity} --surface ${surface}\` makes it.`
