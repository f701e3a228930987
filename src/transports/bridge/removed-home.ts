/** Detects that the home of a running bridge was removed, as by `turnbell uninstall --purge`. */
import { TurnbellError } from '../../contracts/errors.ts'

/**
 * `isThere` tells whether the home at `root` exists. Returns a check for the home: `hub_unreachable` if the home was there at an earlier check, or now, and is gone. A home
 * that was never there is not removed: the first call creates it.
 */
export function removedHome(root: string, isThere: () => boolean): () => TurnbellError | null {
  let seen = isThere()
  return () => {
    const is_there = isThere()
    seen ||= is_there
    if (is_there || !seen) return null
    return new TurnbellError('hub_unreachable', {
      detail: `The home ${root} was removed while this bridge ran, so no hub is started in it.`,
      hint: 'Nothing was done. Do not call again unless the person wants turnbell back: `turnbell up` creates the home again.',
    })
  }
}
