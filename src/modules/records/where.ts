/**
 * Which store a call means: that of the project it names, else of the caller's own project, else the hub's,
 * so that the very first call works with nothing set up. What belongs to the hub is always there.
 */
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'
import { PORTFOLIO, type RecordKind } from '../../contracts/records.ts'
import type { Project } from '../../contracts/registry.ts'
import type { Caller } from '../../contracts/token.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import type { PersonaRegistry } from '../registry/personas.ts'
import type { Projects } from '../registry/projects.ts'

/** Who calls, and what they say of the call. */
export interface RecordCall {
  caller: Pick<Caller, 'identity'>
  context: {
    agent_id: string
    /** A project's id, alias or directory, or `portfolio` for all of them. */
    scope: string | null
  }
}

export interface Place {
  /** Null for the hub's own, and for a directory that is not known yet. */
  project_id: string | null
  /** Such a directory. */
  new_root?: string
  records: RecordStore
}

export interface WhereNeeds {
  /** The hub's own store. */
  home: RecordStore
  /** The store in a project's directory; null where there is no such directory. */
  openProject: (root: string) => RecordStore | null
  projects: Pick<Projects, 'around' | 'at' | 'list'>
  personas: Pick<PersonaRegistry, 'get'>
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

  const inProject = ({ project_id, root }: Project, whose: string): Place => {
    const records = openProject(root)
    if (records !== null) return { project_id, records }
    throw new TurnbellError('project_unknown', {
      detail: `${whose} is in ${root}, and there is no such directory.`,
      hint: 'Make the directory, or name another project as scope.',
    })
  }

  /** Null for the hub's own place. */
  const own = (call: RecordCall): Place | null => {
    const persona = personas.get(call.caller.identity)
    if (persona?.project_id === undefined) return null
    const project = projects.around(persona.project_id)
    return project === null ? null : inProject(project, `The project of ${persona.identity}`)
  }

  const named = (scope: string): Place => {
    const project = projects.around(scope)
    if (project !== null) return inProject(project, `The project ${scope}`)
    const records = path.isAbsolute(scope) ? openProject(path.normalize(scope)) : null
    if (records !== null) return { project_id: null, new_root: scope, records }
    throw new TurnbellError('project_unknown', {
      detail: `${JSON.stringify(scope)} is neither a known project nor an existing directory.`,
      hint: 'Name a project by its id, its alias or its absolute path; `registry list` tells them all.',
    })
  }

  return {
    toRead(call, kind) {
      const { scope } = call.context
      if (kind.keeper === 'hub') return [at_home]
      if (scope === null) return [own(call) ?? at_home]
      if (scope !== PORTFOLIO) return [named(scope)]
      return projects.list().flatMap(({ project_id, root }) => {
        const records = openProject(root)
        return records === null ? [] : [{ project_id, records }]
      })
    },

    toWrite(call, kind) {
      const { scope } = call.context
      if (kind.keeper === 'hub') return at_home
      if (scope === null) return own(call) ?? at_home
      if (scope !== PORTFOLIO) return named(scope)
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
