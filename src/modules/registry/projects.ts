/**
 * Projects: each has an id, a root directory and optional aliases.
 *
 * One directory is one project, whatever links lead to it: a new project is stored with the real path of its root. Roots
 * that were stored as links stay links.
 *
 * A directory with a turnbell home is not a project. One that an earlier version stored is listed, so that it can be
 * removed, but no call reaches it.
 */
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { Project } from '../../contracts/registry.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import {
  homeIsNoProject,
  nearestMemory,
  nearestRepository,
  type PathInspector,
} from '../../ports/path-inspector.ts'
import type { Ids } from '../../ports/random.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import {
  createTypedRecords,
  schemaCodec,
  type HeldTypedRecords,
  type TypedRecords,
} from '../lib/typed-records.ts'
import { UncertainWrites } from '../lib/uncertain-writes.ts'
import {
  absoluteRoot,
  createProjectTable,
  deleteProject,
  findProject,
  hasName,
  isBelow,
  listDirectories,
  listProjects,
  normalized,
  realRoot,
  resolveProject,
  setProject,
  storedRoot,
  type ProjectTable,
  type ResolvedProject,
} from './project-table.ts'

export interface Projects extends ProjectPaths, ProjectChanges {
  list(): Project[]
  /** As `list`, but with one project for each directory: two roots may lead to one directory by a link. */
  directories(): Project[]
  /** Finds a project by id, alias or root path. */
  find(project: string): Project | null
  /**
   * As `find`; a path inside a project finds the innermost one, unless a nearer memory belongs to no known
   * project.
   */
  around(project: string): Project | null
  /** As `around`, together with the project that the path is inside in any case. */
  resolve(project: string): ResolvedProject
  /** As `around`; throws `project_unknown`. */
  get(project: string): Project
}

/** Paths around and inside projects. */
export interface ProjectPaths {
  /**
   * Returns the root of the project that a directory outside all known projects would become: the nearest directory
   * upwards with a memory, otherwise the root of the git work tree, otherwise the directory itself. Null for a home.
   */
  rootFor(directory: string): string | null
  holdsHome(directory: string): boolean
  /** Returns the same path in the main work tree, because linked work trees share its memory. */
  inMainWorkTree(place: string): string
  /** Returns the linked work trees of a project, as paths relative to its root. */
  workTreesInside(root: string): string[]
  /**
   * Returns the real path of a directory; null if it is outside the project. The project is where its root led when
   * the hub first used it, so a root that became a link later is outside.
   */
  realIn(project: Project | null, directory: string): string | null
  /** Returns whether the root still has the same real path as when the hub first used it. */
  isInPlace(project: Project): boolean
}

export interface ProjectChanges {
  /** Returns the project with this root, and creates it if necessary. Throws `project_unknown` for a home. */
  at(root: string): Promise<Project>
  /** As `at`, and sets its name and aliases. Throws `alias_taken` and `limit_reached`. */
  add(input: {
    path: string
    name?: string | undefined
    aliases?: readonly string[] | undefined
  }): Promise<Project>
  /** Adds or removes an alias. Throws `project_unknown`, `alias_taken`, `limit_reached`. */
  alias(project: string, alias: string, remove: boolean): Promise<Project>
  /** Removes a project by its name as in `find`, also one whose last write failed and may be durable. */
  remove(project: string): Promise<void>
}

export interface ProjectsDeps {
  records: RecordStore
  clock: Clock
  ids: Ids
  places: PathInspector
  log: Log
}

export async function openProjects(deps: ProjectsDeps): Promise<Projects> {
  const stored = createTypedRecords(
    deps.records,
    schemaCodec('project', Project, (project) => project.project_id),
    deps.log,
  )
  const table = createProjectTable(deps.places, await stored.list())
  return {
    list: () => listProjects(table),
    directories: () => listDirectories(table),
    find: (project) => findProject(table, project),
    around: (project) => resolveProject(table, project).project,
    resolve: (project) => resolveProject(table, project),
    get: (project) => getProject(table, project),
    ...createProjectPaths(table),
    ...createProjectChanges(table, stored, deps),
  }
}

function getProject(table: ProjectTable, name: string): Project {
  const { project } = resolveProject(table, name)
  if (project !== null) return project
  const home = path.isAbsolute(name) ? normalized(name) : findProject(table, name)?.root
  if (home !== undefined && table.places.hasHome(home)) throw homeIsNoProject(home)
  throw new TurnbellError('project_unknown', { detail: `There is no project ${JSON.stringify(name)}.` })
}

function createProjectPaths(table: ProjectTable): ProjectPaths {
  const { places } = table
  return {
    rootFor(directory) {
      const real = normalized(places.realPath(absoluteRoot(directory)))
      if (places.hasHome(real)) return null
      const root = nearestMemory(places, real) ?? nearestRepository(places, real)
      return root === null || places.hasHome(root) ? real : root
    },
    holdsHome: (directory) => places.hasHome(absoluteRoot(directory)),
    inMainWorkTree(place) {
      const tree = places.linkedWorkTree(place)
      if (tree === null) return place
      return path.join(tree.main, path.relative(tree.top, places.realPath(place)))
    },
    workTreesInside(root) {
      const real = realRoot(table, root)
      const main = nearestRepository(places, real)
      const tops = main === null ? [] : places.workTreesOf(main)
      return tops.filter((top) => isBelow(real, top)).map((top) => path.relative(real, top))
    },
    realIn(project, directory) {
      const real = normalized(places.realPath(directory))
      if (project === null) return real
      const root = realRoot(table, project.root)
      return real === root || isBelow(root, real) ? real : null
    },
    isInPlace: ({ root }) => places.realPath(root) === realRoot(table, root),
  }
}

function createProjectChanges(
  table: ProjectTable,
  stored: TypedRecords<Project>,
  { clock, ids }: Pick<ProjectsDeps, 'clock' | 'ids'>,
): ProjectChanges {
  /** By root: new projects, and changes of known ones. */
  const uncertain = new UncertainWrites<Project>()

  /** Runs one change at a time, so that the checks still hold when the change is stored. */
  const change = (root: string, update: (project: Project) => Project): Promise<Project> =>
    stored.exclusive(async (held) => {
      const known = table.by_root.get(root)
      const before = known ??
        uncertain.get(root) ?? { project_id: ids.next(), root, aliases: [], created_at: timestamp(clock) }
      const project = update(before)
      if (project === known && !uncertain.has(root)) return project
      await withdrawFailed(
        held,
        ({ aliases }) => aliases.some((alias) => project.aliases.includes(alias)),
        root,
      )
      assertAliasesAllowed(project, [...table.by_root.values(), ...uncertain.values()])
      await uncertain.settle(root, project, () => held.put(project))
      setProject(table, project)
      return project
    })

  /** Removes new projects whose write failed, so that their names can be used again. */
  const withdrawFailed = async (
    held: HeldTypedRecords<Project>,
    matches: (project: Project) => boolean,
    except_root?: string,
  ) => {
    for (const [root, project] of uncertain) {
      if (table.by_root.has(root) || root === except_root || !matches(project)) continue
      await held.remove(project.project_id)
      uncertain.delete(root)
    }
  }

  return {
    async at(directory) {
      const root = newRoot(table, directory)
      const known = table.by_root.get(root)
      return known !== undefined && !uncertain.has(root) ? known : change(root, (project) => project)
    },
    async add(input) {
      return change(newRoot(table, input.path), (project) => ({
        ...project,
        ...(input.name === undefined ? {} : { name: input.name }),
        aliases: [...new Set([...project.aliases, ...(input.aliases ?? [])])],
      }))
    },
    async alias(project, alias, remove) {
      return change(getProject(table, project).root, (known) => ({
        ...known,
        aliases: [...known.aliases.filter((other) => other !== alias), ...(remove ? [] : [alias])],
      }))
    },
    remove: (name) =>
      stored.exclusive(async (held) => {
        await withdrawFailed(held, hasName(table, name))
        const known = findProject(table, name)
        if (known === null) return
        await uncertain.settle(known.root, known, () => held.remove(known.project_id))
        deleteProject(table, known)
      }),
  }
}

/** Throws `alias_taken` and `limit_reached`. */
function assertAliasesAllowed({ project_id, root, aliases }: Project, known: readonly Project[]): void {
  for (const alias of aliases) {
    const owner = known.find((other) => other.aliases.includes(alias))
    if (owner === undefined || owner.project_id === project_id) continue
    throw new TurnbellError('alias_taken', { detail: `${alias} is an alias of ${owner.root}.` })
  }
  if (aliases.length <= LIMITS.project_aliases_max) return
  throw new TurnbellError('limit_reached', {
    detail: `${root} would have more than ${LIMITS.project_aliases_max} aliases.`,
    hint: 'Remove an alias with `registry alias` and `remove`.',
  })
}

/** As `storedRoot`; throws `project_unknown` for a home. */
function newRoot(table: ProjectTable, directory: string): string {
  const root = storedRoot(table, directory)
  if (table.places.hasHome(root)) throw homeIsNoProject(root)
  return root
}
