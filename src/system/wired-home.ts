/**
 * Homes by project, for wiring that git tracks: a file that others check out cannot hold the path of a home, and
 * clients pass few variables on. Kept in the user's own settings folder, never in a project: a repository that is
 * checked out must not choose where the daemon's configuration is read from.
 */
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { jsonAs } from '../contracts/json.ts'
import { ensurePrivateDirectory, resolveHome, settingsDirectory, userDirectory, type Home } from './home.ts'
import { replaceFile } from './replace-file.ts'
import { readText } from './watch-text.ts'

const Homes = z.record(z.string(), z.string())

/** The home that a client's process acts in: the flag, else TURNBELL_HOME, else the one its project is wired to. */
export function resolveWiredHome(env: NodeJS.ProcessEnv, flag: string | undefined, cwd: () => string): Home {
  if (flag !== undefined || env['TURNBELL_HOME']) return resolveHome(env, flag)
  return resolveHome(env, wiredHome(env, cwd))
}

/** The home of the nearest wired project around the working directory; undefined where there is none. */
export function wiredHome(env: NodeJS.ProcessEnv, cwd: () => string): string | undefined {
  const homes = readHomes(env)
  if (Object.keys(homes).length === 0) return undefined
  const { PWD } = env
  for (const start of [cwd(), ...(PWD !== undefined && path.isAbsolute(PWD) ? [PWD] : [])]) {
    for (let at = start; ; at = path.dirname(at)) {
      if (Object.hasOwn(homes, at)) return homes[at]
      if (path.dirname(at) === at) break
    }
  }
  return undefined
}

/** True for the home that is used where none is named: nothing has to lead to it. */
export function isUsualHome(home: Home, env: NodeJS.ProcessEnv): boolean {
  return home.root === path.join(userDirectory(env['HOME']), '.turnbell')
}

/** Sets the home of a project. Writes only what changes. */
export function setWiredHome(env: NodeJS.ProcessEnv, project: string, home: string): void {
  const { [project]: before, ...others } = readHomes(env)
  if (before !== home) writeHomes(env, { ...others, [project]: home })
}

/** Removes the home of a project if it is `ours`: another home may have set it since. A file that is empty goes. */
export function removeWiredHome(
  env: NodeJS.ProcessEnv,
  project: string,
  ours: (home: string) => boolean,
): void {
  const { [project]: before, ...others } = readHomes(env)
  if (before === undefined || !ours(before)) return
  if (Object.keys(others).length > 0) return writeHomes(env, others)
  const file = fileOf(env)
  fs.rmSync(file, { force: true })
  if (fs.readdirSync(path.dirname(file)).length === 0) fs.rmdirSync(path.dirname(file))
}

function writeHomes(env: NodeJS.ProcessEnv, homes: Record<string, string>): void {
  const file = fileOf(env)
  fs.mkdirSync(settingsDirectory(env), { recursive: true })
  ensurePrivateDirectory(path.dirname(file))
  replaceFile(file, `${JSON.stringify(homes, null, 2)}\n`, { flush: true })
}

const fileOf = (env: NodeJS.ProcessEnv) => path.join(settingsDirectory(env), 'turnbell', 'homes.json')

const readHomes = (env: NodeJS.ProcessEnv) => jsonAs(Homes, readText(fileOf(env))) ?? {}
