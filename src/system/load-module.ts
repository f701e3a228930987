/** Imports a module that a file names: by a path, or as a package that is installed near that file. */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { handwrittenJson } from '../contracts/json.ts'

/** `from` is the directory in which the name was written. Rejects with what the module threw, or why there is none. */
export async function loadModule(name: string, from: string): Promise<unknown> {
  return import(moduleAddress(name, from))
}

/** The same without importing it, for whoever hands it on. @throws Error where there is none. */
export function moduleAddress(name: string, from: string): string {
  const file = isPath(name) ? path.resolve(from, name) : packageFile(name, from)
  return pathToFileURL(entryOf(file)).href
}

function isPath(name: string): boolean {
  return name.startsWith('.') || path.isAbsolute(name)
}

/** A directory stands for what its package.json says. */
function entryOf(file: string): string {
  const stat = fs.statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) throw new Error(`there is no ${file}`)
  return stat.isDirectory() ? packageEntry(file) : file
}

function packageFile(name: string, from: string): string {
  const directory = findPackage(name, from)
  if (directory === null) throw new Error(`the package ${name} is installed neither in ${from} nor above it`)
  return directory
}

/** As Node looks for packages: in `node_modules` here, then further up. Null where there is none. */
export function findPackage(name: string, from: string): string | null {
  for (let at = from; ; at = path.dirname(at)) {
    const directory = path.join(at, 'node_modules', name)
    if (fs.existsSync(path.join(directory, 'package.json'))) return directory
    if (path.dirname(at) === at) return null
  }
}

/** The `.` of `exports`, for Node and ES modules; else `main`, else index.js. */
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
    const found = CONDITIONS.includes(condition) ? conditional(inner) : null
    if (found !== null) return found
  }
  return null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
