/**
 * The project and the paths of a memory call at the command line: both default to the working directory.
 * `docs/guides/shared-memory.md` describes the rules.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Cli } from './cli.ts'
import type { HubClient } from './hub/client.ts'
import { Project } from '../contracts/registry.ts'
import { SCOPE_DEFAULT } from '../contracts/memory/records.ts'
import { FACADES } from '../facades/all.ts'
import { createRegistry } from '../kernel/registry.ts'
import { nearestMemory, nearestRepository } from '../ports/path-inspector.ts'
import type { Home } from '../system/config/home.ts'
import { systemPathInspector } from '../system/files/path-inspector.ts'

/** Value of `--scope`: the project around the working directory, the same as `.`. */
export const PROJECT_HERE = 'project'
/** Value of `--scope`: the hub's own memory. */
const HUB_MEMORY = 'hub'

const MEMORY: readonly string[] = ['blackboard', 'decisions', 'graph', 'context']

export interface ScopedParams {
  /** Scope of the call; undefined for the hub's own memory. */
  scope: string | undefined
  params: unknown
  /** Names the project that was chosen by default; null if the call named one. */
  note: string | null
}

/** `scope` is the value of `--scope`. The params of facades without memory stay unchanged. */
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
    const note = `${cli.cwd} is not in a project, so this uses the hub's own memory. Name a project with --scope.`
    return { scope: undefined, params, note }
  }
  return {
    scope: here,
    params: root === null ? params : fromCaller(params, { cwd: cli.cwd, root, home }),
    note: named === undefined ? `Project: ${mainRoot(home, root ?? here)}` : null,
  }
}

/** Also resolves aliases of the action. */
function isMemory(facade: string, action: string): boolean {
  try {
    return MEMORY.includes(createRegistry(FACADES).resolve(facade, action).facade.name)
  } catch {
    // The facade belongs to a plugin, or the hub will refuse the name.
    return false
  }
}

/** Returns the root as the hub resolves it: the nearest memory, else git's work tree, else null. */
function rootAround(home: Home, directory: string): string | null {
  const places = systemPathInspector(home)
  const real = places.realPath(directory)
  if (places.hasHome(real)) return null
  const root = nearestMemory(places, real) ?? nearestRepository(places, real)
  return root === null || places.hasHome(root) ? null : root
}

/** Returns the root of a project that has neither a memory nor git, which only the hub knows. */
async function knownRoot(client: HubClient, directory: string): Promise<string | null> {
  const project = await client.call('registry', 'resolve', { project: directory }).catch(() => null)
  return Project.safeParse(project).data?.root ?? null
}

function mainRoot(home: Home, root: string): string {
  return systemPathInspector(home).linkedWorkTree(root)?.main ?? root
}

interface Standpoint {
  cwd: string
  root: string
  home: Home
}

/** Makes the paths in the params absolute that are relative to the caller's directory. */
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
 * Resolves a path from the caller's directory if it begins with a dot or if such a file exists. Any other text stays
 * unchanged: a path from the project's root, a module or a symbol.
 */
function placed(text: string, { cwd, root, home }: Standpoint): string {
  if (text === SCOPE_DEFAULT || path.isAbsolute(text) || text === '') return text
  const real = systemPathInspector(home).realPath(cwd)
  const whole = path.resolve(real, text)
  const inside = whole === root || whole.startsWith(`${root}${path.sep}`)
  if (!inside || (!DOTTED.test(text) && (real === root || !fs.existsSync(whole)))) return text
  return text.endsWith('/') && whole !== root ? `${whole}/` : whole
}
