/**
 * Projects: a root path and the id that stands for it, with the other names it is known by.
 *
 * One directory is one project, whatever links lead to it: a new one is kept with the path that all links end in, and a
 * path is compared by where it leads. Roots that were kept as links stay as they are.
 *
 * A directory that holds a home of turnbell is none. One that a former hub made of it is told, so that it can be
 * removed, and no call reaches it.
 */
import path from 'node:path'
import { Project } from '../../contracts/registry.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import { homeRefused, memoryAround, repositoryAround, type Places } from '../../ports/places.ts'
import type { Ids } from '../../ports/random.ts'
import type { HeldRecords, RecordBody, RecordStore } from '../../ports/record-store.ts'
import { Unsure } from '../unsure.ts'

const KIND = 'project'

export interface Projects {
  list(): Project[]
  /** As `list`, each directory once: two that were made of one directory, by a link, are both kept. */
  directories(): Project[]
  /** By id, by alias, or by root path. */
  find(project: string): Project | null
  /** As `find`; of a path, the innermost project around it, unless a memory that nobody made known is nearer. */
  around(project: string): Project | null
  /** As `around`; where it finds none, the project that the path lies in all the same. */
  meant(project: string): Meant
  /** As `around`; throws `project_unknown`. */
  get(project: string): Project
  /**
   * The project that a directory would become which `around` finds none for: the nearest directory upwards that has a
   * memory, else the root of git's work tree, else the directory itself. Null where that holds a home.
   */
  rootFor(directory: string): string | null
  holdsHome(directory: string): boolean
  /**
   * The same place in the main work tree, for one that lies in a linked work tree of git: both have one memory. Any
   * other path as it is given.
   */
  inMainWorkTree(place: string): string
  /** The linked work trees of a project, as paths below its root. */
  workTreesInside(root: string): string[]
  /** Whether a directory that is written as one of the project is none, because of a link. */
  leadsOut(project: Project, directory: string): boolean
  /** The one with this root, made where there is none. Two calls at once make one. Throws `project_unknown`: a home. */
  at(root: string): Promise<Project>
  /** As `at`, and says what it is called. Throws `alias_taken` and `limit_reached`. */
  add(input: {
    path: string
    name?: string | undefined
    aliases?: readonly string[] | undefined
  }): Promise<Project>
  /** Gives it another name, or takes one away. Throws `project_unknown`, `alias_taken`, `limit_reached`. */
  alias(project: string, alias: string, remove: boolean): Promise<Project>
  /** Named as in `find`; also one whose adding was refused, and that may be on the disk all the same. */
  remove(project: string): Promise<void>
}

export interface Meant {
  project: Project | null
  within: Project | null
}

export async function openProjects(needs: {
  records: RecordStore
  clock: Clock
  ids: Ids
  places: Places
  log: Log
}): Promise<Projects> {
  const { records, clock, ids, places } = needs
  const by_root = new Map<string, Project>()
  /** By root as well; of one that is known, a change that was refused. */
  const unsure = new Unsure<Project>()
  /** Looked at once: a call must not wait for the disks of all projects. */
  const real_roots = new Map<string, string>()
  const by_real = new Map<string, Project>()
  /** The roots that hold a home; looked at once as well. */
  const homes = new Set<string>()
  const arrange = () => {
    by_real.clear()
    for (const project of listed()) {
      const real = real_roots.get(project.root) ?? lookAt(project.root)
      if (real === project.root || !by_real.has(real)) by_real.set(real, project)
    }
  }
  const lookAt = (root: string): string => {
    const real = places.real(root)
    real_roots.set(root, real)
    if (places.holdsHome(root)) homes.add(root)
    return real
  }
  const listed = () => [...by_root.values()].sort((a, b) => (a.project_id < b.project_id ? -1 : 1))
  for (const { id, body } of await records.list(KIND)) {
    const parsed = Project.safeParse(body)
    if (parsed.success) by_root.set(parsed.data.root, parsed.data)
    else needs.log.warn({ kind: KIND, id }, 'a record does not fit its schema and is left out')
  }
  arrange()

  /** One change at a time: what is decided on must still be true when it is recorded. */
  const change = (root: string, what: (project: Project) => Project): Promise<Project> =>
    records.exclusive(KIND, async (held) => {
      const known = by_root.get(root)
      const before = known ??
        unsure.get(root) ?? { project_id: ids.next(), root, aliases: [], created_at: timestamp(clock) }
      const project = what(before)
      if (project === known && !unsure.has(root)) return project
      await withdraw(held, ({ aliases }) => aliases.some((alias) => project.aliases.includes(alias)), root)
      for (const alias of project.aliases) refuseTaken(alias, project)
      if (project.aliases.length > LIMITS.project_aliases_max) {
        throw new TurnbellError('limit_reached', {
          detail: `${root} would have more than ${LIMITS.project_aliases_max} aliases.`,
          hint: 'Take one away: `registry alias` with `remove`.',
        })
      }
      await unsure.settle(root, project, () => held.put(project.project_id, project as RecordBody))
      by_root.set(root, project)
      arrange()
      return project
    })

  /** Those whose adding was refused are in nobody's way. */
  const withdraw = async (held: HeldRecords, which: (project: Project) => boolean, but_root?: string) => {
    for (const [root, project] of unsure) {
      if (by_root.has(root) || root === but_root || !which(project)) continue
      await held.remove(project.project_id)
      unsure.delete(root)
    }
  }

  const refuseTaken = (alias: string, project: Project) => {
    const holder = [...by_root.values(), ...unsure.values()].find(({ aliases }) => aliases.includes(alias))
    if (holder === undefined || holder.project_id === project.project_id) return
    throw new TurnbellError('alias_taken', { detail: `${alias} is an alias of ${holder.root}.` })
  }

  /** The root under which a directory is kept, or would be. */
  const keptRoot = (given: string): string => {
    const root = rootOf(given)
    if (by_root.has(root)) return root
    const real = normal(places.real(root))
    return by_real.get(real)?.root ?? real
  }

  const isNamed = (name: string) => {
    const root = path.isAbsolute(name) ? keptRoot(name) : null
    return (project: Project) =>
      root === null ? project.project_id === name || project.aliases.includes(name) : project.root === root
  }
  const find: Projects['find'] = (project) => [...by_root.values()].find(isNamed(project)) ?? null

  const isNone = ({ root }: Project) => homes.has(root)

  /** The innermost known project around a directory, however that is reached. */
  const knownAround = (directory: string, real: string): Project | null => {
    const written = innermost(by_root, directory, isNone)
    const led = innermost(by_real, real, isNone)
    if (written === null || led === null) return written ?? led
    // Two of one directory: the one that was named.
    return real_roots.get(written.root) === real_roots.get(led.root) ? written : led
  }

  const meant: Projects['meant'] = (named) => {
    if (!path.isAbsolute(named)) {
      const project = find(named)
      return project === null || isNone(project) ? NOTHING : { project, within: project }
    }
    const directory = normal(named)
    const real = normal(places.real(directory))
    const project = knownAround(directory, real)
    const root = project === null ? null : (real_roots.get(project.root) ?? project.root)
    // Most calls name the root itself, which was looked at before.
    if (project === null || root === null || root === real) return { project, within: project }
    if (places.holdsHome(real)) return NOTHING
    // A link may lead out of the project that it stands in.
    const inside = isBelow(root, real)
    if (memoryAround(places, real, inside ? root : null) === null) return { project, within: project }
    return { project: null, within: inside ? project : null }
  }

  const around: Projects['around'] = (project) => meant(project).project

  const get: Projects['get'] = (project) => {
    const found = around(project)
    if (found !== null) return found
    const home = path.isAbsolute(project) ? normal(project) : find(project)?.root
    if (home !== undefined && places.holdsHome(home)) throw homeRefused(home)
    throw new TurnbellError('project_unknown', { detail: `There is no project ${JSON.stringify(project)}.` })
  }

  /** As `keptRoot`, of what may be a project. */
  const projectRoot = (given: string): string => {
    const root = keptRoot(given)
    if (places.holdsHome(root)) throw homeRefused(root)
    return root
  }

  return {
    list: listed,
    directories: () =>
      listed().filter(
        (project) => by_real.get(real_roots.get(project.root) ?? '') === project && !isNone(project),
      ),
    ...{ find, around, meant, get },
    rootFor(directory) {
      const real = normal(places.real(rootOf(directory)))
      if (places.holdsHome(real)) return null
      const root = memoryAround(places, real) ?? repositoryAround(places, real)
      return root === null || places.holdsHome(root) ? real : root
    },
    holdsHome: (directory) => places.holdsHome(rootOf(directory)),
    inMainWorkTree(place) {
      const tree = places.linkedWorkTree(place)
      if (tree === null) return place
      return path.join(tree.main, path.relative(tree.top, places.real(place)))
    },
    workTreesInside(root) {
      const real = real_roots.get(root) ?? places.real(root)
      const main = repositoryAround(places, real)
      const tops = main === null ? [] : places.workTreesOf(main)
      return tops.filter((top) => isBelow(real, top)).map((top) => path.relative(real, top))
    },
    leadsOut({ root }, directory) {
      const [within, real] = [places.real(root), places.real(directory)]
      return real !== within && !isBelow(within, real)
    },
    async at(given) {
      const root = projectRoot(given)
      const known = by_root.get(root)
      return known !== undefined && !unsure.has(root) ? known : change(root, (project) => project)
    },
    async add(input) {
      return change(projectRoot(input.path), (project) => ({
        ...project,
        ...(input.name === undefined ? {} : { name: input.name }),
        aliases: [...new Set([...project.aliases, ...(input.aliases ?? [])])],
      }))
    },
    async alias(project, alias, remove) {
      return change(get(project).root, (known) => ({
        ...known,
        aliases: [...known.aliases.filter((one) => one !== alias), ...(remove ? [] : [alias])],
      }))
    },
    async remove(project) {
      await records.exclusive(KIND, async (held) => {
        await withdraw(held, isNamed(project))
        const known = find(project)
        if (known === null) return
        await unsure.settle(known.root, known, () => held.remove(known.project_id))
        by_root.delete(known.root)
      })
      arrange()
    },
  }
}

const NOTHING: Meant = { project: null, within: null }

function isBelow(root: string, directory: string): boolean {
  return directory.startsWith(root.endsWith(path.sep) ? root : `${root}${path.sep}`)
}

/** The project in this directory, or in the nearest one above it; those that are none are passed over. */
function innermost(
  roots: ReadonlyMap<string, Project>,
  directory: string,
  isNone: (project: Project) => boolean,
): Project | null {
  const found = roots.get(directory)
  if (found !== undefined && !isNone(found)) return found
  const parent = path.dirname(directory)
  return parent === directory ? null : innermost(roots, parent, isNone)
}

function rootOf(given: string): string {
  if (path.isAbsolute(given)) return normal(given)
  throw new TurnbellError('params_invalid', {
    detail: `project: ${JSON.stringify(given)} is not an absolute path.`,
  })
}

/** One spelling of a path: no trailing slash, no dots. */
function normal(root: string): string {
  const normalised = path.normalize(root)
  return normalised.length > 1 ? normalised.replace(/[/\\]+$/, '') : normalised
}
