/** Detects that the home of a running bridge was removed, as by `turnbell uninstall --purge`. */
import { TurnbellError } from '../contracts/errors/errors.ts'

/**
 * Returns a check that yields `hub_unreachable` if the home existed at this or an earlier check and is gone.
 * `isThere` returns whether the home at `root` exists. A home that never existed was not removed: the first
 * call creates it.
 */
export function removedHome(root: string, isThere: () => boolean): () => TurnbellError | null {
  let seen = isThere()
  return () => {
    const is_there = isThere()
    seen ||= is_there
    if (is_there || !seen) return null
    return new TurnbellError('hub_unreachable', {
      detail: `The home ${root} was removed while this bridge was running. No hub is started in it.`,
      hint: 'Do not call again unless the person wants turnbell back: `turnbell up` creates the home again.',
    })
  }
}
