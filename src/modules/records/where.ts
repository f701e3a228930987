/**
 * Which store a call means: that of the project it is about, else the hub's. What belongs to the hub is
 * always there.
 */
import { TurnbellError } from '../../contracts/errors.ts'
import { PORTFOLIO, type RecordKind } from '../../contracts/records.ts'
import { homeRefused } from '../../ports/places.ts'
import type { ProjectStore } from '../../ports/project-store.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import type { Projects } from '../registry/projects.ts'
import { isLetIn, subjectOf, type ScopedCall, type ScopeNeeds, type Subject } from '../registry/scope.ts'

export interface RecordCall extends ScopedCall {
  context: ScopedCall['context'] & { agent_id: string }
}

export interface Place {
  /** Null for the hub's own, and for a directory that is not known yet. */
  project_id: string | null
  /** Such a directory: the root of the project that it becomes. */
  new_root?: string
  records: RecordStore
  /** What else the project keeps; null for the hub's own. */
  project: ProjectStore | null
}

export interface WhereNeeds extends ScopeNeeds {
  /** The hub's own store. */
  home: RecordStore
  /** What a project keeps; null where there is no such directory. */
  openProject: (root: string) => ProjectStore | null
  projects: Pick<
    Projects,
    'meant' | 'rootFor' | 'find' | 'holdsHome' | 'at' | 'directories' | 'inMainWorkTree' | 'workTreesInside'
  >
}

export interface Where {
  /** One place, or the places of all known projects. Throws `project_unknown`. */
  toRead(call: RecordCall, kind: RecordKind): Place[]
  /** Throws `project_unknown` and `portfolio_readonly`. */
  toWrite(call: RecordCall, kind: RecordKind): Place
  /** Makes a directory that is going to be written known as a project. */
  known(place: Place): Promise<Place>
}

export function createWhere({ home, openProject, projects, personas }: WhereNeeds): Where {
  const at_home: Place = { project_id: null, records: home, project: null }

  type OnePlace = Exclude<Subject, { about: 'portfolio' }>

  /** A linked work tree of git keeps nothing of its own: what is about it belongs to the main work tree. */
  const inMainWorkTree = (subject: OnePlace): OnePlace => {
    if (subject.about !== 'project' && subject.about !== 'directory') return subject
    const directory = projects.inMainWorkTree(subject.directory)
    if (directory === subject.directory) return subject
    const { project, within } = projects.meant(directory)
    if (project !== null) return { about: 'project', project, directory }
    // Whoever was let into the linked work tree was let into this one.
    const around = subject.about === 'project' ? subject.project : subject.within
    return { about: 'directory', directory, within: within ?? around }
  }

  /** The only place of a call that is not about the portfolio. */
  const placeOf = (named: OnePlace, call: RecordCall): Place => {
    const { scope } = call.context
    const subject = inMainWorkTree(named)
    if (subject.about === 'hub') return at_home
    if (subject.about === 'project') {
      const { project_id, root } = subject.project
      const opened = openProject(root)
      if (opened !== null) return { project_id, records: opened.records, project: opened }
      const whose = scope === null ? `of ${call.caller.identity}` : scope
      throw new TurnbellError('project_unknown', {
        detail: `The project ${whose} is in ${root}, and there is no such directory.`,
        hint: 'Make the directory, or name another project as scope.',
      })
    }
    // Others would reach, by naming a directory, what nobody has let them into.
    if (subject.about === 'directory' && isLetIn(call, subject)) {
      const new_root = projects.rootFor(subject.directory)
      if (new_root === null) throw homeRefused(subject.directory)
      const opened = openProject(new_root)
      if (opened !== null) return { project_id: null, new_root, records: opened.records, project: opened }
    }
    // What a former hub made a project, and is none.
    const kept = scope === null ? undefined : projects.find(scope)?.root
    if (kept !== undefined && projects.holdsHome(kept)) throw homeRefused(kept)
    throw new TurnbellError('project_unknown', {
      detail: `The hub knows no project ${JSON.stringify(scope)}.`,
      hint: 'Name a project by its id, its alias or its absolute path. A directory becomes one by what the operator does in it: `turnbell persona add NAME --project DIR`.',
    })
  }

  return {
    toRead(call, kind) {
      if (kind.keeper === 'hub') return [at_home]
      const subject = subjectOf({ projects, personas }, call)
      if (subject.about !== 'portfolio') return [placeOf(subject, call)]
      return projects.directories().flatMap(({ project_id, root }) => {
        const opened = openProject(root)
        return opened === null ? [] : [{ project_id, records: opened.records, project: opened }]
      })
    },

    toWrite(call, kind) {
      if (kind.keeper === 'hub') return at_home
      const subject = subjectOf({ projects, personas }, call)
      if (subject.about !== 'portfolio') return placeOf(subject, call)
      throw new TurnbellError('portfolio_readonly', {
        detail: `A ${kind.name} belongs to one project, and ${PORTFOLIO} means all of them.`,
      })
    },

    async known(place) {
      const { new_root, records, project } = place
      if (new_root === undefined) return place
      const { project_id } = await projects.at(new_root)
      return { project_id, records, project }
    },
  }
}
