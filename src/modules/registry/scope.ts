/**
 * Resolves the subject of a call. Records, git and programs follow the same rules:
 *
 * 1. The project that the scope names by id, alias or directory. A directory means the innermost project around it:
 *    a known one, or a memory (`.turnbell`) that is not registered yet.
 * 2. Without a scope, the project of the caller's persona.
 * 3. Otherwise the hub, which stores records, so that the first call works without setup. Calls that need a directory
 *    are rejected.
 *
 * `portfolio` means every known project and is only allowed for reading records; calls that need one directory follow
 * rule 2. Only the operator may name a directory outside all known projects. It means the nearest memory above it,
 * otherwise git's work tree, otherwise the directory itself; records that the operator writes there create a project. A
 * directory with a turnbell home is not a project.
 */
import path from 'node:path'
import type { PersonaRegistry } from './personas.ts'
import type { Projects } from './projects.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { PORTFOLIO } from '../../contracts/memory/records.ts'
import type { Project } from '../../contracts/registry.ts'
import type { Caller } from '../../contracts/token.ts'

/** The caller of an action, and the scope of the call. */
export interface ScopedCall {
  caller: Pick<Caller, 'identity' | 'kind'>
  context: {
    /** A project's id, alias or directory, or `portfolio` for all of them. */
    scope: string | null
  }
}

export interface ScopeDeps {
  projects: Pick<Projects, 'resolve' | 'rootFor' | 'isInPlace'>
  personas: Pick<PersonaRegistry, 'get'>
}

export type Subject =
  | {
      about: 'project'
      project: Project
      /** The named directory, which may be inside the project; the project's root if it was named by id or alias. */
      directory: string
    }
  /** A directory of no known project. `within` is the project around a directory with a memory of its own. */
  | { about: 'directory'; directory: string; within: Project | null }
  | { about: 'portfolio' }
  | { about: 'hub' }
  /** An unknown id or alias. */
  | { about: 'unknown' }

/** The operator may use any directory; other callers only directories inside known projects. */
export function isAllowedIn(
  { caller }: Pick<ScopedCall, 'caller'>,
  { within }: { within: Project | null },
): boolean {
  return caller.kind === 'operator' || within !== null
}

export function subjectOf(deps: ScopeDeps, { caller, context: { scope } }: ScopedCall): Subject {
  if (scope === PORTFOLIO) return { about: 'portfolio' }
  const wanted = scope ?? deps.personas.get(caller.identity)?.project_id
  if (wanted === undefined) return { about: 'hub' }
  const { project, within } = deps.projects.resolve(wanted)
  const directory = path.isAbsolute(wanted) ? path.resolve(wanted) : null
  if (project !== null) return { about: 'project', project, directory: directory ?? project.root }
  if (directory !== null) return { about: 'directory', directory, within }
  // The persona's project may have been removed.
  return scope === null ? { about: 'hub' } : { about: 'unknown' }
}

/** Returns the directory in which programs run: the root of the project. Throws `project_unknown`. */
export function projectRoot(deps: ScopeDeps, call: ScopedCall): string {
  const subject = oneDirectory(deps, call, 'project_unknown')
  if (subject.about === 'project') {
    assertInPlace(deps, subject.project)
    return subject.project.root
  }
  return deps.projects.rootFor(subject.directory) ?? subject.directory
}

/**
 * Returns the real path of the directory that git reads. It is the named one, so that a call can name another repository
 * inside the project, but not a link out of it. Throws `repository_unknown`.
 */
export function repositoryRoot(
  deps: ScopeDeps & { projects: Pick<Projects, 'realIn'> },
  call: ScopedCall,
): string {
  const subject = oneDirectory(deps, call, 'repository_unknown')
  const { directory } = subject
  const project = subject.about === 'project' ? subject.project : null
  const real = deps.projects.realIn(project, directory)
  if (real !== null) return real
  throw new TurnbellError('repository_unknown', {
    detail: `${directory} is a link out of the project in ${project?.root ?? directory}.`,
    hint: 'Name a directory inside the project. The operator may name another repository by its path, or add it with `registry add`.',
  })
}

/** Throws `project_unknown` if the root became a link after the hub first used the project. */
export function assertInPlace({ projects }: Pick<ScopeDeps, 'projects'>, project: Project): void {
  if (projects.isInPlace(project)) return
  throw new TurnbellError('project_unknown', {
    detail: `${project.root} became a link to another directory after the hub first used the project.`,
    hint: 'Find out who made the link. If it is intended, restart the hub.',
  })
}

function oneDirectory(
  deps: ScopeDeps,
  { caller, context }: ScopedCall,
  refusal: 'project_unknown' | 'repository_unknown',
): Subject & { directory: string } {
  const scope = context.scope === PORTFOLIO ? null : context.scope
  const subject = subjectOf(deps, { caller, context: { scope } })
  if (subject.about === 'project') return subject
  if (subject.about === 'directory' && isAllowedIn({ caller }, subject)) return subject
  throw new TurnbellError(refusal, {
    detail:
      subject.about === 'hub'
        ? `The call names no project, and ${caller.identity} belongs to no project.`
        : `There is no project ${JSON.stringify(scope)}.`,
    hint: 'Pass the id, alias or directory of a project as scope, or give the persona a project: `turnbell persona add NAME --project DIR`.',
  })
}
