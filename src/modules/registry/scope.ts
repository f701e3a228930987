/**
 * What a call is about. One rule, for records, for git and for programs:
 *
 * 1. The project that its scope names: by id, by alias, or by a directory, which means the innermost project
 *    around it: one that is known, or a memory (`.turnbell`) that nobody made known yet.
 * 2. Without a scope, the project that the caller's persona belongs to.
 * 3. Without either, the hub: there records are kept, so that the first call works with nothing set up. What
 *    needs a directory is refused.
 *
 * `portfolio` means every known project, which only reading records can; what needs one directory goes by
 * the second rule. A directory that no known project is around can only be meant by the operator, and is about
 * the nearest memory above it, else about git's work tree, else about itself; records that the operator writes there
 * make a project of that. A directory that holds a home of turnbell is no project.
 */
import path from 'node:path'
import type { PersonaRegistry } from './personas.ts'
import type { Projects } from './projects.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { PORTFOLIO } from '../../contracts/records.ts'
import type { Project } from '../../contracts/registry.ts'
import type { Caller } from '../../contracts/token.ts'

/** Who calls, and what they say of the call. */
export interface ScopedCall {
  caller: Pick<Caller, 'identity' | 'kind'>
  context: {
    /** A project's id, alias or directory, or `portfolio` for all of them. */
    scope: string | null
  }
}

export interface ScopeNeeds {
  projects: Pick<Projects, 'meant' | 'rootFor'>
  personas: Pick<PersonaRegistry, 'get'>
}

export type Subject =
  | {
      about: 'project'
      project: Project
      /** The one that was named, which may lie inside of the project; its root where it was named otherwise. */
      directory: string
    }
  /** One that no known project is about; `within`: the one that it lies in, with a memory of its own. */
  | { about: 'directory'; directory: string; within: Project | null }
  | { about: 'portfolio' }
  | { about: 'hub' }
  /** A name that no project has. */
  | { about: 'unknown' }

/** The operator may work anywhere; others only where the operator let a project be. */
export function isLetIn(
  { caller }: Pick<ScopedCall, 'caller'>,
  { within }: { within: Project | null },
): boolean {
  return caller.kind === 'operator' || within !== null
}

export function subjectOf(needs: ScopeNeeds, { caller, context: { scope } }: ScopedCall): Subject {
  if (scope === PORTFOLIO) return { about: 'portfolio' }
  const wanted = scope ?? needs.personas.get(caller.identity)?.project_id
  if (wanted === undefined) return { about: 'hub' }
  const { project, within } = needs.projects.meant(wanted)
  const directory = path.isAbsolute(wanted) ? path.resolve(wanted) : null
  if (project !== null) return { about: 'project', project, directory: directory ?? project.root }
  if (directory !== null) return { about: 'directory', directory, within }
  // A persona's project may have been taken away.
  return scope === null ? { about: 'hub' } : { about: 'unknown' }
}

/** Where programs run: in the root of the project, whatever place in it was named. Throws `project_unknown`. */
export function projectRoot(needs: ScopeNeeds, call: ScopedCall): string {
  const subject = oneDirectory(needs, call, 'project_unknown')
  if (subject.about === 'project') return subject.project.root
  return needs.projects.rootFor(subject.directory) ?? subject.directory
}

/**
 * Where git looks: in the directory that was named, so that inside a project another repository can be
 * meant, but not by a link one outside of it. Throws `repository_unknown`.
 */
export function repositoryRoot(
  needs: ScopeNeeds & { projects: Pick<Projects, 'leadsOut'> },
  call: ScopedCall,
): string {
  const subject = oneDirectory(needs, call, 'repository_unknown')
  if (subject.about !== 'project') return subject.directory
  const { project, directory } = subject
  if (directory === project.root || !needs.projects.leadsOut(project, directory)) return directory
  throw new TurnbellError('repository_unknown', {
    detail: `${directory} leads out of the project in ${project.root}, by a link.`,
    hint: 'Name what lies in the project. Another repository the operator may name by its own path, or make a project: `registry add`.',
  })
}

function oneDirectory(
  needs: ScopeNeeds,
  { caller, context }: ScopedCall,
  refusal: 'project_unknown' | 'repository_unknown',
): Subject & { directory: string } {
  const scope = context.scope === PORTFOLIO ? null : context.scope
  const subject = subjectOf(needs, { caller, context: { scope } })
  if (subject.about === 'project') return subject
  if (subject.about === 'directory' && isLetIn({ caller }, subject)) return subject
  throw new TurnbellError(refusal, {
    detail:
      subject.about === 'hub'
        ? `The call names no project, and ${caller.identity} belongs to none.`
        : `The hub knows no project ${JSON.stringify(scope)}.`,
    hint: 'Name a project as scope, by its id, its alias or its directory, or give the persona one: `turnbell persona add NAME --project DIR`.',
  })
}
