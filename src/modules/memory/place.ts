/**
 * Whose memory a call is about: that of the project it names, else of its caller's project, else the hub's own, so
 * that the first call works with nothing set up. One project at a time: the portfolio stands for none of them.
 */
import path from 'node:path'
import { openLibrary, type Library } from './library.ts'
import { fromRoot, type Paths, type Ways } from './scope.ts'
import { readSettings, SETTINGS_DEFAULT, type ConfigText, type Settings } from './settings.ts'
import { ENTRY_KIND } from '../../contracts/entry.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { PORTFOLIO, SCOPE_DEFAULT } from '../../contracts/records.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Log } from '../../ports/log.ts'
import type { ProjectStore } from '../../ports/project-store.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import { createWhere, type Place, type WhereNeeds } from '../records/where.ts'

export interface MemoryCall {
  caller: Pick<Caller, 'identity' | 'kind'>
  context: { agent_id: string; scope: string | null }
}

export interface MemoryPlace {
  /** Null for the hub's own. */
  project_id: string | null
  /** Null for the hub's own. */
  project: ProjectStore | null
  library: Library
  settings(): Promise<Settings>
  /** What a call said, with its paths as the project calls them. */
  here: <T extends Paths>(said: T) => T
}

export interface MemoryPlaces {
  /** Throws `project_unknown`. */
  toRead(call: MemoryCall): MemoryPlace
  /** The same; a directory that is written for the first time becomes a known project. */
  toWrite(call: MemoryCall): Promise<MemoryPlace>
  /** The same, but a directory is meant by itself: also one inside of another project becomes one of its own. */
  toWriteJustThere(call: MemoryCall): Promise<MemoryPlace>
  /** Those that somebody has called for. */
  opened(): MemoryPlace[]
}

/** All kinds of memory are kept in the same place. */
const KIND = ENTRY_KIND

export function createMemoryPlaces(needs: WhereNeeds & { log: Log }): MemoryPlaces {
  const where = createWhere(needs)
  const libraries = new WeakMap<RecordStore, Library>()
  const read = new WeakMap<ProjectStore, { text: ConfigText; settings: Settings }>()

  const settingsOf = async (project: ProjectStore | null): Promise<Settings> => {
    if (project === null) return SETTINGS_DEFAULT
    const text = await project.configText()
    const known = read.get(project)
    if (known !== undefined && known.text === text) return known.settings
    const settings = readSettings(text)
    read.set(project, { text, settings })
    return settings
  }
  const opened = new Map<Library, MemoryPlace>()
  const placed = ({ project_id, project, records }: Place): MemoryPlace => {
    const library = libraries.get(records) ?? openLibrary(records, project, needs.log)
    libraries.set(records, library)
    const place: MemoryPlace = {
      ...{ project_id, project, library, settings: () => settingsOf(project) },
      here: (said) => fromRoot(project?.root, said, waysOf(needs.projects, { project_id, project })),
    }
    opened.set(library, place)
    return place
  }

  return {
    toRead: (call) => placed(where.toWrite(inOneProject(call), KIND)),
    toWrite: async (call) => placed(await where.known(where.toWrite(inOneProject(call), KIND))),
    async toWriteJustThere(call) {
      const { scope } = call.context
      if (scope !== null && path.isAbsolute(scope)) {
        if (needs.openProject(scope) !== null) await needs.projects.at(scope)
        // What is not there is refused, and nothing is made known.
        else if (needs.projects.meant(scope).project === null) throw isNotThere(scope)
      }
      return placed(await where.known(where.toWrite(inOneProject(call), KIND)))
    },
    opened: () => [...opened.values()],
  }
}

/** How the paths of one call lead into the project: each directory is looked at once. */
function waysOf(
  projects: Pick<WhereNeeds['projects'], 'find' | 'inMainWorkTree' | 'workTreesInside'>,
  place: Pick<Place, 'project_id' | 'project'>,
): Ways {
  const { project } = place
  const directories = new Map<string, string>()
  let inside: string[] | null = null
  const mainOf = (directory: string): string => {
    const known = directories.get(directory) ?? projects.inMainWorkTree(directory)
    directories.set(directory, known)
    return known
  }
  return {
    byRoot: byRootOf(projects, place),
    inMain(given) {
      if (project === null) return given
      if (path.isAbsolute(given)) {
        const whole = path.normalize(given)
        // What is not below a root may be a work tree itself, of which its parent knows nothing.
        const itself = mainOf(whole)
        if (itself !== whole) return itself
        return given
      }
      inside ??= projects.workTreesInside(project.root)
      const local = given.replace(/^(\.\/)+/, '')
      const tree = inside.find((one) => local === one || local.startsWith(`${one}/`))
      return tree === undefined ? given : local.slice(tree.length + 1) || SCOPE_DEFAULT
    },
  }
}

/** How far down a link to a project is looked for: each directory above a whole path is asked about. */
const LINK_DEPTH_MAX = 32

/**
 * A whole path that leads into the project by a link, as it begins with the root. Below the root no link is followed: a
 * place is called as it is by its real path. It is for one call: looking at a directory stops the hub for a moment, and
 * the files of a call are mostly in the same few.
 */
function byRootOf(
  projects: Pick<WhereNeeds['projects'], 'find'>,
  { project_id, project }: Pick<Place, 'project_id' | 'project'>,
): (given: string) => string {
  const known = new Map<string, boolean>()
  const isRoot = (directory: string): boolean => {
    const is = known.get(directory) ?? projects.find(directory)?.project_id === project_id
    known.set(directory, is)
    return is
  }
  return (given) => {
    if (project === null || project_id === null || !path.isAbsolute(given)) return given
    const whole = path.normalize(given)
    const linked = downTo(whole, LINK_DEPTH_MAX).find(isRoot)
    return linked === undefined
      ? given
      : `${project.root}${whole.slice(linked.length).replaceAll(path.sep, '/')}`
  }
}

/** The directories above a path, the topmost first, and the path itself; no more than `most`. */
function downTo(whole: string, most: number): string[] {
  const { root } = path.parse(whole)
  const names = whole.slice(root.length).split(path.sep, most - 1)
  return [root, ...names.map((_, depth) => root + names.slice(0, depth + 1).join(path.sep))]
}

/** A directory that was only looked into: it is nobody's project, and nothing is written there. */
export function isOnlySeen({ project, project_id }: MemoryPlace): boolean {
  return project !== null && project_id === null
}

/** What a memory is called: as its project says, else as its directory, else as the hub. */
export function nameOf({ project }: MemoryPlace, { config }: Settings): string {
  return config.project_name || (project === null ? HUB : path.basename(project.root))
}

const HUB = 'hub'

function isNotThere(directory: string): TurnbellError {
  return new TurnbellError('project_unknown', { detail: `There is no directory ${directory}.` })
}

/** For what is kept beside the memory: the same project as the memory's. */
export function inOneProject(call: MemoryCall): MemoryCall {
  const { scope } = call.context
  return scope === PORTFOLIO ? { ...call, context: { ...call.context, scope: null } } : call
}
