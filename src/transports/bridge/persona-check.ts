/** Refuses a persona that does not exist: a mistyped name would otherwise begin a queue that nobody sends to. */
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity } from '../../contracts/ids.ts'

/** Returns the refusal as the client and the person read it; `onFirst` is called with the first one. */
export function personaRefusal(
  { identity, home }: { identity: Identity; home: string },
  onFirst: (refusal: TurnbellError) => void,
): (refused: TurnbellError) => TurnbellError {
  let first = true
  return ({ detail }) => {
    const refusal = new TurnbellError('target_unknown', {
      detail: `${detail} The home is ${home}.`,
      hint: `Correct the name or the home, make the persona with \`turnbell persona add ${identity} --surface mcp\`, or start with --create.`,
    })
    if (first) onFirst(refusal)
    first = false
    return refusal
  }
}
