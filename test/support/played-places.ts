/** Paths that lead where a test says, and directories that hold what it says. */
import type { Places, WorkTree } from '../../src/ports/places.ts'

/** No links at all. */
export function playedPlaces(
  {
    memories = [],
    homes = [],
    repositories = [],
    work_trees = [],
  }: Partial<Record<Held, readonly string[]>> & { work_trees?: readonly WorkTree[] } = {},
  looked: (directory: string) => void = () => {},
): Places {
  const holds = (which: readonly string[]) => (directory: string) => {
    looked(directory)
    return which.includes(directory)
  }
  return {
    real: (given) => given,
    ...{ holdsMemory: holds(memories), holdsHome: holds(homes), holdsRepository: holds(repositories) },
    linkedWorkTree: (place) =>
      work_trees.find(({ top }) => place === top || place.startsWith(`${top}/`)) ?? null,
    workTreesOf: (main) => work_trees.filter((one) => one.main === main).map(({ top }) => top),
  }
}
type Held = 'memories' | 'homes' | 'repositories'

/** Nothing anywhere. */
export const AS_WRITTEN: Places = playedPlaces()
