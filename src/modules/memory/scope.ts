/**
 * Scopes: the part of a project that a record is about. A path covers everything below it, `project` covers everything,
 * and a symbol only itself. A trailing slash and a leading `./` are ignored.
 */
import { toNfc, sameText } from '../../contracts/text/same-text.ts'
import { SCOPE_DEFAULT } from '../../contracts/memory/records.ts'

/** Proximity of two scopes, from 1 for the same scope to 0 for unrelated ones. */
export type Nearness = number

/** Whether `inner` is the same as `outer` or below it. */
export function within(inner: string, outer: string): boolean {
  return isWithin(normalize(inner), normalize(outer))
}

/** Whether a record about one scope is relevant for the other: one of them contains the other. */
export function concerns(one: string, other: string): boolean {
  const [a, b] = [normalize(one), normalize(other)]
  return isWithin(a, b) || isWithin(b, a)
}

export function sameScope(one: string, other: string): boolean {
  return normalize(one) === normalize(other)
}

/**
 * Returns 1 for the same scope. Where one contains the other, the value grows with the share of the path they have in
 * common; the whole project has the lowest value that still concerns everything.
 */
export function nearness(one: string, other: string): Nearness {
  const [a, b] = [normalize(one), normalize(other)]
  if (a === b) return 1
  if (!isWithin(a, b) && !isWithin(b, a)) return 0
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  if (short === '') return WHOLE_PROJECT
  return WHOLE_PROJECT + (1 - WHOLE_PROJECT) * (depth(short) / depth(long)) * SURROUNDING
}

/** As `nearness`, for many scopes and one target; memoized, because most scopes recur. */
export function nearnessTo(target: string): (scope: string) => Nearness {
  const values = new Map<string, Nearness>()
  return (scope) => {
    const existing = values.get(scope)
    if (existing !== undefined) return existing
    const value = nearness(scope, target)
    values.set(scope, value)
    return value
  }
}

const WHOLE_PROJECT = 0.3
/** Keeps every containing scope below 1, the value of the same scope. */
const SURROUNDING = 0.9

/** Parameters of a call that are paths in its project. */
export interface CallPaths {
  scope?: string | undefined
  affected_files?: string[] | undefined
}

/** Resolves paths that do not begin with the root of their project. */
export interface PathMappings {
  /** Replaces a symbolic link to the project at the start of a path by the root. */
  resolveLink: (path: string) => string
  /** Maps a path in a linked work tree of git to the main work tree; a relative path is taken as below the root. */
  toMainWorkTree: (path: string) => string
}

/** Makes the paths of a call relative to the root. Agents pass absolute paths, which differ between machines. */
export function relativeToRoot<T extends CallPaths>(
  root: string | undefined,
  params: T,
  mappings: PathMappings,
): T {
  if (root === undefined) return params
  const belowRoot = (path: string) => {
    if (path === root || path === `${root}/`) return SCOPE_DEFAULT
    if (path.startsWith(`${root}/`)) return path.slice(root.length + 1)
    if (!toNfc(path).startsWith(toNfc(root))) return null
    const parts = path.split('/')
    const depth = root.split('/').length
    if (!sameText(parts.slice(0, depth).join('/'), root)) return null
    return parts.slice(depth).join('/') || SCOPE_DEFAULT
  }
  const toRelative = (given: string) => {
    const path = mappings.toMainWorkTree(given)
    return belowRoot(path) ?? belowRoot(mappings.resolveLink(path)) ?? path
  }
  const { scope, affected_files } = params
  return {
    ...params,
    ...(scope === undefined ? {} : { scope: toRelative(scope) }),
    ...(affected_files === undefined ? {} : { affected_files: affected_files.map(toRelative) }),
  }
}

/** Normalised scopes, memoized because the same scopes are compared over and over. Cleared at the maximum. */
const NORMALIZED_MAX = 50_000
const normalized = new Map<string, string>()

/** Normalises a scope to a path without prefix and trailing slash; the empty path for the whole project. */
function normalize(scope: string): string {
  const existing = normalized.get(scope)
  if (existing !== undefined) return existing
  const path = toNfc(scope)
    .replaceAll('\\', '/')
    .replace(/^(\.\/)+/, '')
    .replace(/\/+$/, '')
  const value = path === SCOPE_DEFAULT || path === '.' ? '' : path
  if (normalized.size >= NORMALIZED_MAX) normalized.clear()
  normalized.set(scope, value)
  return value
}

function isWithin(inner: string, outer: string): boolean {
  return outer === '' || inner === outer || (inner.startsWith(outer) && inner[outer.length] === '/')
}

function depth(path: string): number {
  return path.split('/').length
}
