/**
 * Scopes: which part of a project something is about.
 *
 * A path covers what lies below it, `project` covers everything, and a symbol only itself. Slashes at the end and
 * `./` in front say nothing.
 */
import { composed, sameText } from '../../contracts/same-text.ts'
import { SCOPE_DEFAULT } from '../../contracts/records.ts'

/** How near one scope is to another, from 1 for the same to 0 for one that has nothing to do with it. */
export type Nearness = number

/** Whether `inner` lies in `outer`, or is it. */
export function within(inner: string, outer: string): boolean {
  return isWithin(plain(inner), plain(outer))
}

/** Whether what is said of one is worth knowing for the other: one of them lies in the other. */
export function concerns(one: string, other: string): boolean {
  const [a, b] = [plain(one), plain(other)]
  return isWithin(a, b) || isWithin(b, a)
}

export function sameScope(one: string, other: string): boolean {
  return plain(one) === plain(other)
}

/**
 * 1 for the same scope. Of one that lies in the other, the more of its path they share the nearer; the whole project
 * is the farthest that still concerns everything.
 */
export function nearness(one: string, other: string): Nearness {
  const [a, b] = [plain(one), plain(other)]
  if (a === b) return 1
  if (!isWithin(a, b) && !isWithin(b, a)) return 0
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  if (short === '') return WHOLE_PROJECT
  return WHOLE_PROJECT + (1 - WHOLE_PROJECT) * (depth(short) / depth(long)) * SURROUNDING
}

/** As `nearness`, of many scopes to one. Most are said again and again. */
export function nearnessTo(asked: string): (scope: string) => Nearness {
  const known = new Map<string, Nearness>()
  return (scope) => {
    const before = known.get(scope)
    if (before !== undefined) return before
    const near = nearness(scope, asked)
    known.set(scope, near)
    return near
  }
}

const WHOLE_PROJECT = 0.3
/** So that no surrounding scope counts as much as the very same. */
const SURROUNDING = 0.9

/** What a call says of places in its project. */
export interface Paths {
  scope?: string | undefined
  affected_files?: string[] | undefined
}

/** Ways into a project other than by its root. */
export interface Ways {
  /** A path that leads into the project by a link, as it begins with the root. */
  byRoot: (path: string) => string
  /** A path in a linked work tree of git, as the same place in the main work tree; below the root if it is relative. */
  inMain: (path: string) => string
}

/** Paths relative to the root. Agents pass absolute paths, which differ between machines. */
export function fromRoot<T extends Paths>(root: string | undefined, said: T, ways: Ways): T {
  if (root === undefined) return said
  const below = (path: string) => {
    if (path === root || path === `${root}/`) return SCOPE_DEFAULT
    if (path.startsWith(`${root}/`)) return path.slice(root.length + 1)
    if (!composed(path).startsWith(composed(root))) return null
    const parts = path.split('/')
    const depth = root.split('/').length
    if (!sameText(parts.slice(0, depth).join('/'), root)) return null
    return parts.slice(depth).join('/') || SCOPE_DEFAULT
  }
  const local = (given: string) => {
    const path = ways.inMain(given)
    return below(path) ?? below(ways.byRoot(path)) ?? path
  }
  const { scope, affected_files } = said
  return {
    ...said,
    ...(scope === undefined ? {} : { scope: local(scope) }),
    ...(affected_files === undefined ? {} : { affected_files: affected_files.map(local) }),
  }
}

/** The same few scopes are compared over and over; a project has not so many that this would be full. */
const PLAIN_KNOWN_MAX = 50_000
const plain_known = new Map<string, string>()

/** A path without what says nothing; the whole project is the empty one. */
function plain(scope: string): string {
  const known = plain_known.get(scope)
  if (known !== undefined) return known
  const path = composed(scope)
    .replaceAll('\\', '/')
    .replace(/^(\.\/)+/, '')
    .replace(/\/+$/, '')
  const found = path === SCOPE_DEFAULT || path === '.' ? '' : path
  if (plain_known.size >= PLAIN_KNOWN_MAX) plain_known.clear()
  plain_known.set(scope, found)
  return found
}

function isWithin(inner: string, outer: string): boolean {
  return outer === '' || inner === outer || (inner.startsWith(outer) && inner[outer.length] === '/')
}

function depth(path: string): number {
  return path.split('/').length
}
