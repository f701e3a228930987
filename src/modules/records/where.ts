/**
 * Which store a call means: that of the project it is about, else the hub's. What belongs to the hub is
 * always there.
 */
import { TurnbellError } from '../../contracts/errors.ts'
import { PORTFOLIO, type RecordKind } from '../../contracts/records.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import type { Projects } from '../registry/projects.ts'
import { subjectOf, type ScopedCall, type ScopeNeeds, type Subject } from '../registry/scope.ts'

export interface RecordCall extends ScopedCall {
  context: ScopedCall['context'] & { agent_id: string }
}

export interface Place {
  /** Null for the hub's own, and for a directory that is not known yet. */
  project_id: string | null
  /** Such a directory. */
  new_root?: string
  records: RecordStore
}

export interface WhereNeeds extends ScopeNeeds {
  /** The hub's own store. */
  home: RecordStore
  /** The store in a project's directory; null where there is no such directory. */
  openProject: (root: string) => RecordStore | null
  projects: Pick<Projects, 'around' | 'at' | 'directories'>
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
  const at_home: Place = { project_id: null, records: home }

  /** The only place of a call that is not about the portfolio. */
  const placeOf = (subject: Exclude<Subject, { about: 'portfolio' }>, call: RecordCall): Place => {
    const { scope } = call.context
    if (subject.about === 'hub') return at_home
    if (subject.about === 'project') {
      const { project_id, root } = subject.project
      const records = openProject(root)
      if (records !== null) return { project_id, records }
      const whose = scope === null ? `of ${call.caller.identity}` : scope
      throw new TurnbellError('project_unknown', {
        detail: `The project ${whose} is in ${root}, and there is no such directory.`,
        hint: 'Make the directory, or name another project as scope.',
      })
    }
    // Others would reach, by naming a directory, what nobody has let them into.
    if (subject.about === 'directory' && call.caller.kind === 'operator') {
      const records = openProject(subject.directory)
      if (records !== null) return { project_id: null, new_root: subject.directory, records }
    }
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
        const records = openProject(root)
        return records === null ? [] : [{ project_id, records }]
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
      if (place.new_root === undefined) return place
      const { project_id } = await projects.at(place.new_root)
      return { project_id, records: place.records }
    },
  }
}
