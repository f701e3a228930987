/** Which directory a call is about: that of the project it names, or of the one its persona belongs to. */
import path from 'node:path'
import type { PersonaRegistry } from './personas.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Caller } from '../../contracts/token.ts'

/** Throws `project_unknown` where the call is about no project that the hub knows. */
export function projectRoot(
  personas: Pick<PersonaRegistry, 'get' | 'projects'>,
  { caller, context: { scope } }: { caller: Caller; context: { scope: string | null } },
): string {
  const named = scope === null || scope === 'portfolio' ? undefined : scope
  const wanted = named ?? personas.get(caller.identity)?.project_id
  if (wanted === undefined) {
    throw new TurnbellError('project_unknown', {
      detail: `The call names no project, and ${caller.identity} belongs to none.`,
    })
  }
  const spelled = path.isAbsolute(wanted) ? path.resolve(wanted) : wanted
  const known = personas.projects().find(({ project_id, root }) => project_id === spelled || root === spelled)
  if (known !== undefined) return known.root
  // The operator may work anywhere; others only where the operator let a project be.
  if (caller.kind === 'operator' && path.isAbsolute(spelled)) return spelled
  throw new TurnbellError('project_unknown', {
    detail: `The hub knows no project ${JSON.stringify(wanted)}.`,
  })
}
