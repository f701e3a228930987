/**
 * Known projects, found by id, alias and directory.
 *
 * A directory is compared by its real path, so links to one directory mean one project. Real paths of roots are
 * resolved once, because a call must not wait for the disks of all projects.
 */
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Project } from '../../contracts/registry.ts'
import { nearestMemory, type PathInspector } from '../../ports/path-inspector.ts'

/** A resolved name of a project or directory. */
export interface ResolvedProject {
  project: Project | null
  /** The project around the directory, also where the directory has a memory of its own. */
  within: Project | null
}

const UNRESOLVED: ResolvedProject = { project: null, within: null }

export interface ProjectTable {
  places: PathInspector
  by_root: Map<string, Project>
  by_real_root: Map<string, Project>
  /** Real paths by root. */
  real_roots: Map<string, string>
  /** Roots that contain a home, so no call reaches these projects. */
  homes: Set<string>
}

export function createProjectTable(places: PathInspector, projects: readonly Project[]): ProjectTable {
  const table: ProjectTable = {
    places,
    by_root: new Map(projects.map((project) => [project.root, project])),
    by_real_root: new Map(),
    real_roots: new Map(),
    homes: new Set(),
  }
  indexByRealRoot(table)
  return table
}

export function setProject(table: ProjectTable, project: Project): void {
  table.by_root.set(project.root, project)
  indexByRealRoot(table)
}

export function deleteProject(table: ProjectTable, { root }: Project): void {
  table.by_root.delete(root)
  indexByRealRoot(table)
}

function indexByRealRoot(table: ProjectTable): void {
  const { by_real_root, real_roots } = table
  by_real_root.clear()
  for (const project of listProjects(table)) {
    const real = real_roots.get(project.root) ?? inspectRoot(table, project.root)
    if (real === project.root || !by_real_root.has(real)) by_real_root.set(real, project)
  }
}

function inspectRoot({ places, real_roots, homes }: ProjectTable, root: string): string {
  const real = places.realPath(root)
  real_roots.set(root, real)
  if (places.hasHome(root)) homes.add(root)
  return real
}

export function listProjects({ by_root }: ProjectTable): Project[] {
  return [...by_root.values()].sort((a, b) => (a.project_id < b.project_id ? -1 : 1))
}

/** Returns one project for each directory, without homes. */
export function listDirectories(table: ProjectTable): Project[] {
  const { by_real_root, real_roots, homes } = table
  return listProjects(table).filter(
    (project) => by_real_root.get(real_roots.get(project.root) ?? '') === project && !homes.has(project.root),
  )
}

/** Returns the root under which a directory is stored, or would be. */
export function storedRoot({ by_root, by_real_root, places }: ProjectTable, directory: string): string {
  const root = absoluteRoot(directory)
  if (by_root.has(root)) return root
  const real = normalized(places.realPath(root))
  return by_real_root.get(real)?.root ?? real
}

/** Returns a predicate that matches the project with this id, alias or root. */
export function hasName(table: ProjectTable, name: string): (project: Project) => boolean {
  const root = path.isAbsolute(name) ? storedRoot(table, name) : null
  return (project) =>
    root === null ? project.project_id === name || project.aliases.includes(name) : project.root === root
}

export function findProject(table: ProjectTable, name: string): Project | null {
  return [...table.by_root.values()].find(hasName(table, name)) ?? null
}

export function resolveProject(table: ProjectTable, name: string): ResolvedProject {
  const { places, homes } = table
  if (!path.isAbsolute(name)) {
    const project = findProject(table, name)
    return project === null || homes.has(project.root) ? UNRESOLVED : { project, within: project }
  }
  const directory = normalized(name)
  const real = normalized(places.realPath(directory))
  const project = innermostProject(table, directory, real)
  const root = project === null ? null : realRoot(table, project.root)
  // Most calls name the root itself, which was inspected when the project was added.
  if (project === null || root === null || root === real) return { project, within: project }
  if (places.hasHome(real)) return UNRESOLVED
  // A link inside a project may lead out of it.
  const inside = isBelow(root, real)
  if (nearestMemory(places, real, inside ? root : null) === null) return { project, within: project }
  return { project: null, within: inside ? project : null }
}

/** Returns the innermost known project around a directory, by its written or its real path. */
function innermostProject(table: ProjectTable, directory: string, real: string): Project | null {
  const { by_root, by_real_root, real_roots, homes } = table
  const by_written_path = innermost(by_root, directory, homes)
  const by_real_path = innermost(by_real_root, real, homes)
  if (by_written_path === null || by_real_path === null) return by_written_path ?? by_real_path
  // If both are projects of one directory, the written path decides.
  const same = real_roots.get(by_written_path.root) === real_roots.get(by_real_path.root)
  return same ? by_written_path : by_real_path
}

/** Returns the project in this directory or in the nearest parent, except homes. */
function innermost(
  roots: ReadonlyMap<string, Project>,
  directory: string,
  homes: ReadonlySet<string>,
): Project | null {
  const found = roots.get(directory)
  if (found !== undefined && !homes.has(found.root)) return found
  const parent = path.dirname(directory)
  return parent === directory ? null : innermost(roots, parent, homes)
}

export function realRoot({ real_roots, places }: ProjectTable, root: string): string {
  return real_roots.get(root) ?? places.realPath(root)
}

export function isBelow(root: string, directory: string): boolean {
  return directory.startsWith(root.endsWith(path.sep) ? root : `${root}${path.sep}`)
}

/** Throws `params_invalid` for a relative path. */
export function absoluteRoot(directory: string): string {
  if (path.isAbsolute(directory)) return normalized(directory)
  throw new TurnbellError('params_invalid', {
    detail: `project: ${JSON.stringify(directory)} is not an absolute path.`,
  })
}

/** Returns the path without trailing slashes and without `.` and `..`. */
export function normalized(root: string): string {
  const result = path.normalize(root)
  return result.length > 1 ? result.replace(/[/\\]+$/, '') : result
}
