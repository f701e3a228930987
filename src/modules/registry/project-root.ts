/** Which directory a call is about: that of the project it names, or of the one its persona belongs to. */
import path from 'node:path'
import type { PersonaRegistry } from './personas.ts'
import type { Projects } from './projects.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { PORTFOLIO } from '../../contracts/records.ts'
import type { Caller } from '../../contracts/token.ts'

export interface ProjectRootNeeds {
  projects: Pick<Projects, 'around'>
  personas: Pick<PersonaRegistry, 'get'>
}

/** Throws `project_unknown` where the call is about no project that the hub knows. */
export function projectRoot(
  { projects, personas }: ProjectRootNeeds,
  { caller, context: { scope } }: { caller: Caller; context: { scope: string | null } },
): string {
  const named = scope === null || scope === PORTFOLIO ? undefined : scope
  const wanted = named ?? personas.get(caller.identity)?.project_id
  if (wanted === undefined) {
    throw new TurnbellError('project_unknown', {
      detail: `The call names no project, and ${caller.identity} belongs to none.`,
      hint: 'Name a project as scope, by its id, its alias or its directory, or give the persona one: `turnbell persona add NAME --project DIR`.',
    })
  }
  const known = projects.around(wanted)
  if (known !== null) return known.root
  // The operator may work anywhere; others only in what is known.
  if (caller.kind === 'operator' && path.isAbsolute(wanted)) return path.normalize(wanted)
  throw new TurnbellError('project_unknown', {
    detail: `The hub knows no project ${JSON.stringify(wanted)}.`,
  })
}
