/**
 * Parses `--scope`, the project of a call. A word without a slash is a project's name. If the hub knows no such project
 * and a directory of this name exists, the error's hint names the directory.
 */
import fs from 'node:fs'
import path from 'node:path'
import { InvalidArgumentError } from 'commander'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { CallerContext } from '../contracts/http.ts'
import type { Cli } from './cli.ts'
import { PROJECT_HERE } from './memory-scope.ts'

const IS_PATH = /[/\\]|^\.{1,2}$/
/** Characters that would end the header. */
const CONTROL = /[\u0000-\u001f\u007f]/

/**
 * Makes a directory absolute, also the one that `project` refers to. A project's id or alias and `portfolio` have no
 * slash and stay as they are.
 */
export function parseScope(cli: Pick<Cli, 'cwd'>): (text: string) => string {
  return (text) => {
    if (text === PROJECT_HERE) return placeFrom(cli, '.')
    const scope = IS_PATH.test(text) ? placeFrom(cli, text) : text
    if (CallerContext.safeParse({ scope }).success && !CONTROL.test(scope)) return scope
    throw new InvalidArgumentError("It must be a project's id, its alias, its directory, or portfolio.")
  }
}

/** Resolves a path. Reads the working directory only for a relative path, because the directory may be gone. */
export function placeFrom(cli: Pick<Cli, 'cwd'>, text: string): string {
  return path.isAbsolute(text) ? path.resolve(text) : path.resolve(cli.cwd, text)
}

/** Returns the error, with a hint that names the directory if `scope` is the name of one. */
export function withDirectoryMeant(
  error: unknown,
  cli: Pick<Cli, 'cwd'>,
  scope: string | undefined,
): unknown {
  if (!(error instanceof TurnbellError) || scope === undefined || IS_PATH.test(scope)) return error
  if (error.code !== 'project_unknown' && error.code !== 'repository_unknown') return error
  const directory =
    fs.statSync(path.resolve(cli.cwd, scope), { throwIfNoEntry: false })?.isDirectory() === true
  if (!directory) return error
  const { code, detail } = error
  const hint = `Use --scope ./${scope} for the directory of this name.`
  return new TurnbellError(code, { detail, hint, cause: error })
}
