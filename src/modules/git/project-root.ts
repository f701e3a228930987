/** Which directory a call is about: the one it names, or the project that its persona belongs to. */
import path from 'node:path'
import type { Asking } from './needs.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { PORTFOLIO } from '../../contracts/records.ts'
import type { PersonaRegistry } from '../registry/personas.ts'
import type { Projects } from '../registry/projects.ts'

const HINT =
  'Name a project as scope, by its id, its alias or its directory, or give the persona one: `turnbell persona add NAME --project DIR`.'

/**
 * A path is taken as it is told, so that inside a project another repository can be meant. Throws
 * `repository_unknown` where the call is about no project that the hub knows.
 */
export function projectRoot(
  { projects, personas }: { projects: Pick<Projects, 'around'>; personas: Pick<PersonaRegistry, 'get'> },
  { caller, context: { scope } }: Asking,
): string {
  const named = scope === null || scope === PORTFOLIO ? undefined : scope
  const wanted = named ?? personas.get(caller.identity)?.project_id
  if (wanted === undefined) {
    throw new TurnbellError('repository_unknown', {
      detail: `The call names no project, and ${caller.identity} belongs to none.`,
      hint: HINT,
    })
  }
  const project = projects.around(wanted)
  // The operator may look anywhere; others only where the operator let a project be.
  if (path.isAbsolute(wanted) && (project !== null || caller.kind === 'operator')) return path.resolve(wanted)
  if (project !== null) return project.root
  throw new TurnbellError('repository_unknown', {
    detail: `The hub knows no project ${JSON.stringify(wanted)}.`,
    hint: HINT,
  })
}
