/** Imports a module by a path or package name from a file, resolved near that file. */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { handwrittenJson } from '../../contracts/validation/json.ts'
import { isObject } from '../../contracts/validation/is-object.ts'

/**
 * `from` is the directory of the file with the name. Rejects with the module's error, or with the reason why it was not
 * found.
 */
export async function loadModule(name: string, from: string): Promise<unknown> {
  return import(moduleAddress(name, from))
}

/** Returns the URL of the module without importing it. @throws Error if it does not exist. */
export function moduleAddress(name: string, from: string): string {
  const file = isPath(name) ? path.resolve(from, name) : packageFile(name, from)
  return pathToFileURL(entryOf(file)).href
}

function isPath(name: string): boolean {
  return name.startsWith('.') || path.isAbsolute(name)
}

/** Resolves a directory by its package.json. */
function entryOf(file: string): string {
  const stat = fs.statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) throw new Error(`${file} does not exist`)
  return stat.isDirectory() ? packageEntry(file) : file
}

function packageFile(name: string, from: string): string {
  const directory = findPackage(name, from)
  if (directory === null)
    throw new Error(`the package ${name} is not installed in ${from} or a parent directory`)
  return directory
}

/** Resolves like Node.js: in `node_modules` here, then in the ancestors. Returns null if not found. */
export function findPackage(name: string, from: string): string | null {
  for (let at = from; ; at = path.dirname(at)) {
    const directory = path.join(at, 'node_modules', name)
    if (fs.existsSync(path.join(directory, 'package.json'))) return directory
    if (path.dirname(at) === at) return null
  }
}

/** The `.` of `exports`, for Node.js and ES modules; otherwise `main`, otherwise index.js. */
function packageEntry(directory: string): string {
  const file = path.join(directory, 'package.json')
  if (!fs.existsSync(file)) return path.join(directory, 'index.js')
  const { exports, main } = handwrittenJson(fs.readFileSync(file, 'utf8')) as {
    exports?: unknown
    main?: unknown
  }
  const root = isObject(exports) && '.' in exports ? exports['.'] : exports
  const entry = conditional(root) ?? (typeof main === 'string' ? main : 'index.js')
  return path.join(directory, entry)
}

const CONDITIONS = ['node', 'import', 'module-sync', 'default']

function conditional(target: unknown): string | null {
  if (typeof target === 'string') return target
  if (!isObject(target)) return null
  for (const [condition, inner] of Object.entries(target)) {
    const target = CONDITIONS.includes(condition) ? conditional(inner) : null
    if (target !== null) return target
  }
  return null
}
