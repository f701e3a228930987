/** Fake path inspection: links and directories as the test configures them. */
import type { PathInspector, WorkTree } from '../../../src/ports/path-inspector.ts'

/** Contains no links. */
export function playedPlaces(
  {
    memories = [],
    homes = [],
    repositories = [],
    work_trees = [],
  }: Partial<Record<Held, readonly string[]>> & { work_trees?: readonly WorkTree[] } = {},
  looked: (directory: string) => void = () => {},
): PathInspector {
  const holds = (which: readonly string[]) => (directory: string) => {
    looked(directory)
    return which.includes(directory)
  }
  return {
    realPath: (given) => given,
    ...{ hasMemory: holds(memories), hasHome: holds(homes), hasRepository: holds(repositories) },
    linkedWorkTree: (place) =>
      work_trees.find(({ top }) => place === top || place.startsWith(`${top}/`)) ?? null,
    workTreesOf: (main) => work_trees.filter((one) => one.main === main).map(({ top }) => top),
  }
}
type Held = 'memories' | 'homes' | 'repositories'

/** Contains no links and no files. */
export const AS_WRITTEN: PathInspector = playedPlaces()
