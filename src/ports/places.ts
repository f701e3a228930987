/** Where a path leads, and what a directory holds. `src/system/places.ts` looks. */
import path from 'node:path'
import { TurnbellError } from '../contracts/errors.ts'

/** Nothing of it throws: what cannot be looked at is not there. */
export interface Places {
  /**
   * The one path of what stands there, however it is reached: absolute, all links followed. Of what is not there, the
   * part that is.
   */
  real(path: string): string
  /**
   * Whether agents share a memory here: a `.turnbell` that is no home. One `above` was not named but found on the way
   * up: another user's does not count then, or whoever may write to /tmp could take in everything below.
   */
  holdsMemory(directory: string, above?: boolean): boolean
  /**
   * Whether this can never be a project: its `.turnbell` is a home, with the secrets and the journal of a person, or
   * it is a home itself, or lies in one of that name.
   */
  holdsHome(directory: string): boolean
  /** Whether a work tree of git begins here; `above` as with a memory. */
  holdsRepository(directory: string, above?: boolean): boolean
  /**
   * The linked work tree of git (`git worktree add`) that a place lies in, and the main work tree that it belongs to,
   * which must list it. Null in any other place, also in a submodule and where there is no main work tree (a bare
   * repository). Both paths are real ones.
   */
  linkedWorkTree(place: string): WorkTree | null
  /** The linked work trees that a main work tree lists and that are there. */
  workTreesOf(main: string): string[]
}

export interface WorkTree {
  top: string
  main: string
}

/** This directory or the nearest one above it that has a memory, but neither `below` nor what is above that. */
export function memoryAround(
  places: Pick<Places, 'holdsMemory'>,
  directory: string,
  below: string | null = null,
): string | null {
  return nearest(directory, below, (one) => places.holdsMemory(one, one !== directory))
}

/** This directory or the nearest one above it where a work tree of git begins. */
export function repositoryAround(places: Pick<Places, 'holdsRepository'>, directory: string): string | null {
  return nearest(directory, null, (one) => places.holdsRepository(one, one !== directory))
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

/** What `holdsHome` is refused with, wherever it is named. */
export function homeRefused(directory: string): TurnbellError {
  return new TurnbellError('project_unknown', {
    detail: `${directory} is no project: a home of turnbell is there, with its secrets and its journal.`,
    hint: 'Name the directory of a project; what belongs to none is kept with the hub, by a call without a scope.',
  })
}
