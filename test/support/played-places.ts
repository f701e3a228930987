/** Paths that lead where a test says, and directories that hold what it says. */
import type { Places } from '../../src/ports/places.ts'

/** No links at all. */
export function playedPlaces(
  { memories = [], homes = [], repositories = [] }: Partial<Record<Held, readonly string[]>> = {},
  looked: (directory: string) => void = () => {},
): Places {
  const holds = (which: readonly string[]) => (directory: string) => {
    looked(directory)
    return which.includes(directory)
  }
  return {
    real: (given) => given,
    ...{ holdsMemory: holds(memories), holdsHome: holds(homes), holdsRepository: holds(repositories) },
  }
}
type Held = 'memories' | 'homes' | 'repositories'

/** Nothing anywhere. */
export const AS_WRITTEN: Places = playedPlaces()
