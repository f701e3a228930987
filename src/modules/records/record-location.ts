/**
 * Locates the store of a call: the store of its project, otherwise the hub's. Kinds that belong to the hub are always
 * stored in the hub.
 */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { PORTFOLIO, type RecordKind } from '../../contracts/memory/records.ts'
import { homeIsNoProject } from '../../ports/path-inspector.ts'
import type { ProjectStore } from '../../ports/project-store.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import type { Projects } from '../registry/projects.ts'
import {
  isAllowedIn,
  assertInPlace,
  subjectOf,
  type ScopedCall,
  type ScopeDeps,
  type Subject,
} from '../registry/scope.ts'

export interface RecordCall extends ScopedCall {
  context: ScopedCall['context'] & { agent_id: string }
}

export interface RecordLocation {
  /** Null for the hub, and for a directory that is not registered as a project yet. */
  project_id: string | null
  /** Root of the project to register before the first write. */
  new_root?: string
  records: RecordStore
  /** Null for the hub. */
  project: ProjectStore | null
}

export interface RecordLocatorDeps extends ScopeDeps {
  /** The hub's store. */
  hub_records: RecordStore
  /** Returns null for a missing directory. */
  openProject: (root: string) => ProjectStore | null
  projects: Pick<
    Projects,
    | 'resolve'
    | 'rootFor'
    | 'isInPlace'
    | 'find'
    | 'holdsHome'
    | 'at'
    | 'directories'
    | 'inMainWorkTree'
    | 'workTreesInside'
  >
}

export interface RecordLocator {
  /** Returns one location, or those of all known projects. Throws `project_unknown`. */
  forRead(call: RecordCall, kind: RecordKind): RecordLocation[]
  /** Throws `project_unknown` and `portfolio_readonly`. */
  forWrite(call: RecordCall, kind: RecordKind): RecordLocation
  /** Registers a new project before its first write. */
  register(location: RecordLocation): Promise<RecordLocation>
}

export function createRecordLocator({
  hub_records,
  openProject,
  projects,
  personas,
}: RecordLocatorDeps): RecordLocator {
  const hub: RecordLocation = { project_id: null, records: hub_records, project: null }

  const locationOf = (named: OneSubject, call: RecordCall): RecordLocation => {
    const { scope } = call.context
    const subject = inMainWorkTree(projects, named)
    if (subject.about === 'hub') return hub
    if (subject.about === 'project') {
      const { project_id, root } = subject.project
      assertInPlace({ projects }, subject.project)
      const opened = openProject(root)
      if (opened !== null) return { project_id, records: opened.records, project: opened }
      const name = scope === null ? `of ${call.caller.identity}` : scope
      throw new TurnbellError('project_unknown', {
        detail: `The directory ${root} of the project ${name} does not exist.`,
        hint: 'Create the directory, or pass another project as scope.',
      })
    }
    // Other callers must not reach arbitrary directories by naming them.
    if (subject.about === 'directory' && isAllowedIn(call, subject)) {
      const new_root = projects.rootFor(subject.directory)
      if (new_root === null) throw homeIsNoProject(subject.directory)
      const opened = openProject(new_root)
      if (opened !== null) return { project_id: null, new_root, records: opened.records, project: opened }
    }
    // A home that an earlier version stored as a project.
    const root = scope === null ? undefined : projects.find(scope)?.root
    if (root !== undefined && projects.holdsHome(root)) throw homeIsNoProject(root)
    throw new TurnbellError('project_unknown', {
      detail: `There is no project ${JSON.stringify(scope)}.`,
      hint: 'Pass the id, alias or absolute path of a project. The operator makes a directory a project with `turnbell persona add NAME --project DIR`.',
    })
  }

  return {
    forRead(call, kind) {
      if (kind.keeper === 'hub') return [hub]
      const subject = subjectOf({ projects, personas }, call)
      if (subject.about !== 'portfolio') return [locationOf(subject, call)]
      return projects.directories().flatMap((project) => {
        const { project_id, root } = project
        if (!projects.isInPlace(project)) return []
        const opened = openProject(root)
        return opened === null ? [] : [{ project_id, records: opened.records, project: opened }]
      })
    },

    forWrite(call, kind) {
      if (kind.keeper === 'hub') return hub
      const subject = subjectOf({ projects, personas }, call)
      if (subject.about !== 'portfolio') return locationOf(subject, call)
      throw new TurnbellError('portfolio_readonly', {
        detail: `A ${kind.name} belongs to one project, but ${PORTFOLIO} means all projects.`,
      })
    },

    async register(location) {
      const { new_root, records, project } = location
      if (new_root === undefined) return location
      const { project_id } = await projects.at(new_root)
      return { project_id, records, project }
    },
  }
}

type OneSubject = Exclude<Subject, { about: 'portfolio' }>

/** A linked git work tree has no memory of its own; its records belong to the main work tree. */
function inMainWorkTree(
  projects: Pick<Projects, 'inMainWorkTree' | 'resolve'>,
  subject: OneSubject,
): OneSubject {
  if (subject.about !== 'project' && subject.about !== 'directory') return subject
  const directory = projects.inMainWorkTree(subject.directory)
  if (directory === subject.directory) return subject
  const { project, within } = projects.resolve(directory)
  if (project !== null) return { about: 'project', project, directory }
  // A caller that is allowed in the linked work tree is allowed in the main one.
  const around = subject.about === 'project' ? subject.project : subject.within
  return { about: 'directory', directory, within: within ?? around }
}
