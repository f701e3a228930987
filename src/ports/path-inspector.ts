/** Resolves paths and recognises special directories. `src/system/files/path-inspector.ts` reads the file system. */
import path from 'node:path'
import { TurnbellError } from '../contracts/errors/errors.ts'

/** No method throws: a path that cannot be read counts as missing. */
export interface PathInspector {
  /**
   * Returns the absolute path with all links resolved. For a missing path, resolves the existing part.
   */
  realPath(path: string): string
  /**
   * Returns whether the directory has a project memory: a `.turnbell` that is not a home. `above`: the directory was found
   * by walking up. Then a memory owned by another user does not count; otherwise one in /tmp would apply to everything below.
   */
  hasMemory(directory: string, above?: boolean): boolean
  /**
   * Returns whether this can never be a project: its `.turnbell` is a home with secrets and journal, or it is a home itself,
   * or is inside a directory of that name.
   */
  hasHome(directory: string): boolean
  /** Returns whether this is the top of a git work tree; `above` as for a memory. */
  hasRepository(directory: string, above?: boolean): boolean
  /**
   * Returns the linked git work tree (`git worktree add`) that contains the path, and its main work tree, which must list it.
   * Null for any other path, also in a submodule and without a main work tree (a bare repository). Both are real paths.
   */
  linkedWorkTree(place: string): WorkTree | null
  /** Returns the existing linked work trees that a main work tree lists. */
  workTreesOf(main: string): string[]
}

export interface WorkTree {
  top: string
  main: string
}

/** Returns this directory or the nearest parent with a memory, up to but excluding `below`. */
export function nearestMemory(
  places: Pick<PathInspector, 'hasMemory'>,
  directory: string,
  below: string | null = null,
): string | null {
  return nearest(directory, below, (one) => places.hasMemory(one, one !== directory))
}

/** Returns this directory or the nearest parent that is the top of a git work tree. */
export function nearestRepository(
  places: Pick<PathInspector, 'hasRepository'>,
  directory: string,
): string | null {
  return nearest(directory, null, (one) => places.hasRepository(one, one !== directory))
}

function nearest(
  directory: string,
  below: string | null,
  isIt: (directory: string) => boolean,
): string | null {
  for (let one = directory; one !== below; one = path.dirname(one)) {
    if (isIt(one)) return one
    if (path.dirname(one) === one) return null
  }
  return null
}

/** Returns the error for a directory for which `hasHome` is true. */
export function homeIsNoProject(directory: string): TurnbellError {
  return new TurnbellError('project_unknown', {
    detail: `${directory} is not a project: it has a turnbell home with secrets and a journal.`,
    hint: 'Pass the directory of a project, or omit the scope to store the record in the hub.',
  })
}
