/**
 * Refuses a persona that does not exist; otherwise a mistyped name would start a queue to which no persona
 * sends.
 */
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { Identity } from '../contracts/ids.ts'

/** Returns the refusal for the client and the person; `onFirst` is called with the first one. */
export function personaRefusal(
  { identity, home }: { identity: Identity; home: string },
  onFirst: (refusal: TurnbellError) => void,
): (refused: TurnbellError) => TurnbellError {
  let first = true
  return ({ detail }) => {
    const refusal = new TurnbellError('target_unknown', {
      detail: `${detail} The home is ${home}.`,
      hint: `Correct the name or the home, create the persona with \`turnbell persona add ${identity} --surface mcp\`, or start with --create.`,
    })
    if (first) onFirst(refusal)
    first = false
    return refusal
  }
}
