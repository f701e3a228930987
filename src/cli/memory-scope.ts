/**
 * Which project a call of the memory is about if it does not name one, and what its paths mean: at the command line both
 * follow from the working directory. `docs/memory.md` describes it.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Cli } from './cli.ts'
import type { HubClient } from './hub-client.ts'
import { Project } from '../contracts/registry.ts'
import { SCOPE_DEFAULT } from '../contracts/records.ts'
import { FACADES } from '../facades/all.ts'
import { createRegistry } from '../kernel/registry.ts'
import { memoryAround, repositoryAround } from '../ports/places.ts'
import type { Home } from '../system/home.ts'
import { systemPlaces } from '../system/places.ts'

/** `--scope`: the project around the working directory, as `.`. */
export const PROJECT_HERE = 'project'
/** `--scope`: the hub's own memory. */
const HUB_MEMORY = 'hub'

const MEMORY: readonly string[] = ['blackboard', 'decisions', 'graph', 'context']

export interface ScopedParams {
  /** What the call names as its scope; undefined for the hub's own memory. */
  scope: string | undefined
  params: unknown
  /** Tells what the call is about, if it did not name that itself. */
  note: string | null
}

/** `scope` as `--scope` names it. A call of another facade keeps its params. */
export async function scopedParams(
  { cli, home, client }: { cli: Pick<Cli, 'cwd'>; home: Home; client: HubClient },
  { facade, action, params, scope }: { facade: string; action: string; params: unknown; scope?: string },
): Promise<ScopedParams> {
  const named = scope === HUB_MEMORY ? undefined : scope
  if (!isMemory(facade, action) || scope === HUB_MEMORY) return { scope: named, params, note: null }
  const here = named ?? cli.cwd
  if (!path.isAbsolute(here)) return { scope: named, params, note: null }
  const root = rootAround(home, here) ?? (named === undefined ? await knownRoot(client, here) : null)
  if (root === null && named === undefined) {
    const note = `No project around ${cli.cwd}: this is the hub's own memory. Name a project with --scope.`
    return { scope: undefined, params, note }
  }
  return {
    scope: here,
    params: root === null ? params : fromCaller(params, { cwd: cli.cwd, root, home }),
    note: named === undefined ? `Project: ${mainRoot(home, root ?? here)}` : null,
  }
}

/** Also by a former name of the action. */
function isMemory(facade: string, action: string): boolean {
  try {
    return MEMORY.includes(createRegistry(FACADES).resolve(facade, action).facade.name)
  } catch {
    // A plugin's, or a name that the hub refuses.
    return false
  }
}

/** As the hub finds it: the nearest memory, else the work tree of git; null where neither is. */
function rootAround(home: Home, directory: string): string | null {
  const places = systemPlaces(home)
  const real = places.real(directory)
  if (places.holdsHome(real)) return null
  const root = memoryAround(places, real) ?? repositoryAround(places, real)
  return root === null || places.holdsHome(root) ? null : root
}

/** A project without a memory and without git, which only the hub knows. */
async function knownRoot(client: HubClient, directory: string): Promise<string | null> {
  const project = await client.call('registry', 'resolve', { project: directory }).catch(() => null)
  return Project.safeParse(project).data?.root ?? null
}

function mainRoot(home: Home, root: string): string {
  return systemPlaces(home).linkedWorkTree(root)?.main ?? root
}

interface Standpoint {
  cwd: string
  root: string
  home: Home
}

/** Paths of the params as absolute ones, where they are meant from the caller's directory. */
function fromCaller(params: unknown, from: Standpoint): unknown {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return params
  const fields = params as Record<string, unknown>
  const { scope, affected_files, new_decision } = fields
  return {
    ...fields,
    ...(typeof scope === 'string' ? { scope: placed(scope, from) } : {}),
    ...(Array.isArray(affected_files)
      ? {
          affected_files: affected_files.map((one: unknown) =>
            typeof one === 'string' ? placed(one, from) : one,
          ),
        }
      : {}),
    ...(new_decision === undefined ? {} : { new_decision: fromCaller(new_decision, from) }),
  }
}

const DOTTED = /^\.{1,2}(\/|$)/

/**
 * A path that begins with a dot is one from the caller's directory; any other only if there is such a file. Otherwise it is
 * what it is to every client: a path from the project's root, a module or a symbol.
 */
function placed(said: string, { cwd, root, home }: Standpoint): string {
  if (said === SCOPE_DEFAULT || path.isAbsolute(said) || said === '') return said
  const real = systemPlaces(home).real(cwd)
  const whole = path.resolve(real, said)
  const inside = whole === root || whole.startsWith(`${root}${path.sep}`)
  if (!inside || (!DOTTED.test(said) && (real === root || !fs.existsSync(whole)))) return said
  return said.endsWith('/') && whole !== root ? `${whole}/` : whole
}
