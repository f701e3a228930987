/**
 * Finds the memory that a call is about: the memory of the project it names, otherwise of its caller's project, otherwise
 * the hub's own, so that the first call works without any setup. The portfolio has no memory of its own.
 */
import path from 'node:path'
import { openProjectMemory, type ProjectMemory } from './project-memory.ts'
import { relativeToRoot, type CallPaths, type PathMappings } from './scope.ts'
import { readSettings, SETTINGS_DEFAULT, type ConfigText, type Settings } from './settings.ts'
import { ENTRY_KIND } from '../../contracts/memory/entry.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { PORTFOLIO, SCOPE_DEFAULT } from '../../contracts/memory/records.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Log } from '../../ports/log.ts'
import type { ProjectStore } from '../../ports/project-store.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import {
  createRecordLocator,
  type RecordLocation,
  type RecordLocatorDeps,
} from '../records/record-location.ts'

export interface MemoryCall {
  caller: Pick<Caller, 'identity' | 'kind'>
  context: { agent_id: string; scope: string | null }
}

export interface MemoryLocation {
  /** Null for the hub's own memory. */
  project_id: string | null
  /** Null for the hub's own memory. */
  project: ProjectStore | null
  memory: ProjectMemory
  settings(): Promise<Settings>
  /** Returns the parameters of a call with paths relative to the project. */
  toProjectPaths: <T extends CallPaths>(given: T) => T
}

export interface MemoryResolver {
  /** Throws `project_unknown`. */
  forRead(call: MemoryCall): MemoryLocation
  /** The same; a directory that is written for the first time is registered as a project. */
  forWrite(call: MemoryCall): Promise<MemoryLocation>
  /** The same, but a directory inside another project is registered as a project of its own. */
  forWriteExactly(call: MemoryCall): Promise<MemoryLocation>
  /** Locations of earlier calls. */
  opened(): MemoryLocation[]
}

/** Represents all kinds of memory records, which share one location. */
const KIND = ENTRY_KIND

export function createMemoryResolver(deps: RecordLocatorDeps & { log: Log }): MemoryResolver {
  const locator = createRecordLocator(deps)
  const libraries = new WeakMap<RecordStore, ProjectMemory>()
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
  const opened = new Map<ProjectMemory, MemoryLocation>()
  const locate = ({ project_id, project, records }: RecordLocation): MemoryLocation => {
    const memory = libraries.get(records) ?? openProjectMemory(records, project, deps.log)
    libraries.set(records, memory)
    const location: MemoryLocation = {
      project_id,
      project,
      memory,
      settings: () => settingsOf(project),
      toProjectPaths: (given) =>
        relativeToRoot(project?.root, given, pathMappings(deps.projects, { project_id, project })),
    }
    opened.set(memory, location)
    return location
  }

  return {
    forRead: (call) => locate(locator.forWrite(inOneProject(call), KIND)),
    forWrite: async (call) => locate(await locator.register(locator.forWrite(inOneProject(call), KIND))),
    async forWriteExactly(call) {
      const { scope } = call.context
      if (scope !== null && path.isAbsolute(scope)) {
        if (deps.openProject(scope) !== null) await deps.projects.at(scope)
        // A missing directory is rejected and not registered.
        else if (deps.projects.resolve(scope).project === null) throw missingDirectoryError(scope)
      }
      return locate(await locator.register(locator.forWrite(inOneProject(call), KIND)))
    },
    opened: () => [...opened.values()],
  }
}

/** Mappings for the paths of one call. Looks at each directory once. */
function pathMappings(
  projects: Pick<RecordLocatorDeps['projects'], 'find' | 'inMainWorkTree' | 'workTreesInside'>,
  location: Pick<RecordLocation, 'project_id' | 'project'>,
): PathMappings {
  const { project } = location
  const directories = new Map<string, string>()
  let inside: string[] | null = null
  const mainPathOf = (directory: string): string => {
    const known = directories.get(directory) ?? projects.inMainWorkTree(directory)
    directories.set(directory, known)
    return known
  }
  return {
    resolveLink: linkResolver(projects, location),
    toMainWorkTree(given) {
      if (project === null) return given
      if (path.isAbsolute(given)) {
        const absolute = path.normalize(given)
        // A path outside the root may be a work tree itself.
        const itself = mainPathOf(absolute)
        if (itself !== absolute) return itself
        return given
      }
      inside ??= projects.workTreesInside(project.root)
      const local = given.replace(/^(\.\/)+/, '')
      const tree = inside.find((one) => local === one || local.startsWith(`${one}/`))
      return tree === undefined ? given : local.slice(tree.length + 1) || SCOPE_DEFAULT
    },
  }
}

/** Maximum depth at which a symbolic link to a project is looked for; each parent directory costs one lookup. */
const LINK_DEPTH_MAX = 32

/**
 * Returns a function that replaces a symbolic link to the project at the start of an absolute path by the root. Links
 * below the root are not followed. Create one for each call: it memoizes directories, because each lookup blocks the hub
 * for a moment and the files of a call are mostly in the same few directories.
 */
function linkResolver(
  projects: Pick<RecordLocatorDeps['projects'], 'find'>,
  { project_id, project }: Pick<RecordLocation, 'project_id' | 'project'>,
): (given: string) => string {
  const known = new Map<string, boolean>()
  const isRoot = (directory: string): boolean => {
    const is = known.get(directory) ?? projects.find(directory)?.project_id === project_id
    known.set(directory, is)
    return is
  }
  return (given) => {
    if (project === null || project_id === null || !path.isAbsolute(given)) return given
    const absolute = path.normalize(given)
    const linked = parentDirectories(absolute, LINK_DEPTH_MAX).find(isRoot)
    return linked === undefined
      ? given
      : `${project.root}${absolute.slice(linked.length).replaceAll(path.sep, '/')}`
  }
}

/** Returns the parent directories of a path, topmost first, and the path itself; at most `most`. */
function parentDirectories(absolute: string, most: number): string[] {
  const { root } = path.parse(absolute)
  const names = absolute.slice(root.length).split(path.sep, most - 1)
  return [root, ...names.map((_, depth) => root + names.slice(0, depth + 1).join(path.sep))]
}

/** Whether the location is a directory that was only read and is not registered as a project; nothing is written there. */
export function isUnregistered({ project, project_id }: MemoryLocation): boolean {
  return project !== null && project_id === null
}

/** Name of a memory: from the project's settings, otherwise the directory's name, otherwise `hub`. */
export function memoryName({ project }: MemoryLocation, { config }: Settings): string {
  return config.project_name || (project === null ? HUB : path.basename(project.root))
}

const HUB = 'hub'

function missingDirectoryError(directory: string): TurnbellError {
  return new TurnbellError('project_unknown', { detail: `The directory ${directory} does not exist.` })
}

/** Returns the call with the portfolio replaced by the caller's own project, as for its memory. */
export function inOneProject(call: MemoryCall): MemoryCall {
  const { scope } = call.context
  return scope === PORTFOLIO ? { ...call, context: { ...call.context, scope: null } } : call
}
