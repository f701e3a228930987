/**
 * Homes by project, for wiring files that are tracked by git and so cannot contain the path of a home. They are stored
 * in the user's settings, never in a project, because a cloned repository must not choose the configuration.
 */
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { parseJsonAs } from '../../contracts/validation/json.ts'
import {
  ensurePrivateDirectory,
  resolveHome,
  settingsDirectory,
  userDirectory,
  type Home,
} from '../config/home.ts'
import { writeFileAtomic } from '../files/atomic-write.ts'
import { readText } from '../files/watch-file.ts'

const Homes = z.record(z.string(), z.string())

/** Returns the home of a client's process: the flag, TURNBELL_HOME, or the home that its project is wired to. */
export function resolveWiredHome(env: NodeJS.ProcessEnv, flag: string | undefined, cwd: () => string): Home {
  if (flag !== undefined || env['TURNBELL_HOME']) return resolveHome(env, flag)
  return resolveHome(env, wiredHome(env, cwd))
}

/** Returns the home of the nearest wired ancestor of the working directory, or undefined. */
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

/** Whether it is the default home, which needs no entry. */
export function isDefaultHome(home: Home, env: NodeJS.ProcessEnv): boolean {
  return home.root === path.join(userDirectory(env['HOME']), '.turnbell')
}

/** Sets the home of a project. Writes only if it changed. */
export function setWiredHome(env: NodeJS.ProcessEnv, project: string, home: string): void {
  const { [project]: before, ...others } = readHomes(env)
  if (before !== home) writeHomes(env, { ...others, [project]: home })
}

/**
 * Removes the home of a project if it is `ours`, because another home may have replaced it. An empty file is removed.
 */
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
  writeFileAtomic(file, `${JSON.stringify(homes, null, 2)}\n`, { flush: true })
}

const fileOf = (env: NodeJS.ProcessEnv) => path.join(settingsDirectory(env), 'turnbell', 'homes.json')

const readHomes = (env: NodeJS.ProcessEnv) => parseJsonAs(Homes, readText(fileOf(env))) ?? {}
