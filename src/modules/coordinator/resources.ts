/**
 * Resources that locks cover. A resource may have any name; names are compared as paths, so that two spellings of one
 * path are one resource.
 */
import path from 'node:path'
import { toNfc } from '../../contracts/text/same-text.ts'
import type { LockScope } from '../../contracts/coordination.ts'

/** `key` is the normalised name of the resource. */
export interface Covered {
  key: string
  scope: LockScope
}

/** Normalises a name: no trailing slash, no dots, forward slashes only. */
export function keyOf(resource: string): string {
  const normal = path.posix.normalize(toNfc(resource).replaceAll('\\', '/'))
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal
}

/** Returns the items that overlap a resource. Only a tree costs a pass over all of them. */
export function overlapping<T extends Covered>(
  covered: ReadonlyMap<string, T>,
  { key, scope }: Covered,
): T[] {
  const same = covered.get(key)
  const above = ancestorsOf(key).flatMap((ancestor) => {
    const item = covered.get(ancestor)
    return item?.scope === 'tree' ? [item] : []
  })
  const below =
    scope === 'tree' ? [...covered.values()].filter((other) => ancestorsOf(other.key).includes(key)) : []
  return [...(same === undefined ? [] : [same]), ...above, ...below]
}

/** The parent paths of a key, nearest first. */
function ancestorsOf(key: string): string[] {
  const parent = path.posix.dirname(key)
  // The root, the start of relative names and paths outside of it have no parents.
  return parent === key || key === '..' || key.endsWith('/..') ? [] : [parent, ...ancestorsOf(parent)]
}
