/**
 * What a lease covers. A resource is whatever its users call it; read as a path, so that two spellings of
 * one place are one resource.
 */
import path from 'node:path'
import { composed } from '../../contracts/same-text.ts'
import type { LeaseScope } from '../../contracts/coordination.ts'

/** `key` is the resource in the one spelling by which it is compared. */
export interface Covered {
  key: string
  scope: LeaseScope
}

/** No trailing slash, no dots, forward slashes only. */
export function keyOf(resource: string): string {
  const normal = path.posix.normalize(composed(resource).replaceAll('\\', '/'))
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal
}

/** Those with which a resource is shared. All of them are only looked through for a tree. */
export function overlapping<T extends Covered>(
  covered: ReadonlyMap<string, T>,
  { key, scope }: Covered,
): T[] {
  const same = covered.get(key)
  const above = ancestorsOf(key).flatMap((ancestor) => {
    const found = covered.get(ancestor)
    return found?.scope === 'tree' ? [found] : []
  })
  const below =
    scope === 'tree' ? [...covered.values()].filter((other) => ancestorsOf(other.key).includes(key)) : []
  return [...(same === undefined ? [] : [same]), ...above, ...below]
}

/** The places that a key lies in, from the nearest on. */
function ancestorsOf(key: string): string[] {
  const above = path.posix.dirname(key)
  // Nothing is above the root, the place that relative names start from, or what lies outside of that.
  return above === key || key === '..' || key.endsWith('/..') ? [] : [above, ...ancestorsOf(above)]
}
