/** Finds the real clients that `scripts/fetch-clients.mjs` has installed. */
import fs from 'node:fs'
import path from 'node:path'
import { folderOf } from '../../../scripts/client-packages.mjs'

/** Also correct in a bundle: `bundled.mjs` writes it three folders below the project. */
const ROOT = path.resolve(import.meta.dirname, '../../..')

/** Returns the `node_modules` in which the package is installed. */
export function modulesOf(name: string): string {
  return path.join(ROOT, folderOf(name), 'node_modules')
}

/** Returns the program at this place in the `node_modules` of the package. */
export function installedProgram(name: string, place: string): string {
  const program = path.join(modulesOf(name), place)
  if (!fs.existsSync(program))
    throw new Error(`${name} is missing at ${program}: run node scripts/fetch-clients.mjs`)
  return program
}
