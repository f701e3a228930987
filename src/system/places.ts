/** Follows links of the file system. */
import fs from 'node:fs'
import path from 'node:path'
import type { Places } from '../ports/places.ts'

export const systemPlaces: Places = { real }

function real(given: string): string {
  try {
    return fs.realpathSync.native(given)
  } catch {
    // Not there, or not to be looked into: then what is above it may still be behind a link.
    const parent = path.dirname(given)
    return parent === given ? given : path.join(real(parent), path.basename(given))
  }
}
