/** Which project a call is about: the one it names, or the one its persona belongs to. */
import path from 'node:path'
import type { Asking } from './needs.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { PersonaRegistry } from '../registry/personas.ts'

const HINT =
  'Name a project as scope, by its id or its root directory, or give the persona one: `turnbell persona add NAME --project DIR`.'

/** Throws `repository_unknown` where the call is about no project that the hub knows. */
export function projectRoot(
  personas: Pick<PersonaRegistry, 'get' | 'projects'>,
  { caller, context: { scope } }: Asking,
): string {
  const named = scope === null || scope === 'portfolio' ? undefined : scope
  const wanted = named ?? personas.get(caller.identity)?.project_id
  if (wanted === undefined) {
    throw new TurnbellError('repository_unknown', {
      detail: `The call names no project, and ${caller.identity} belongs to none.`,
      hint: HINT,
    })
  }
  const spelled = path.isAbsolute(wanted) ? path.resolve(wanted) : wanted
  const project = personas
    .projects()
    .find(({ project_id, root }) => project_id === spelled || root === spelled)
  if (project !== undefined) return project.root
  // The operator may look anywhere; others only where the operator let a project be.
  if (caller.kind === 'operator' && path.isAbsolute(spelled)) return spelled
  throw new TurnbellError('repository_unknown', {
    detail: `The hub knows no project ${JSON.stringify(wanted)}.`,
    hint: HINT,
  })
}
