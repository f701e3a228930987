/**
 * `--scope`: which project a call is about, as a person says it. A word without a slash is a name; whoever
 * meant the directory beside it is told so where the hub knows no such project.
 */
import fs from 'node:fs'
import path from 'node:path'
import { InvalidArgumentError } from 'commander'
import { TurnbellError } from '../contracts/errors.ts'
import { CallerContext } from '../contracts/http.ts'
import type { Cli } from './cli.ts'
import { PROJECT_HERE } from './memory-scope.ts'

const IS_PATH = /[/\\]|^\.{1,2}$/
/** Would end the header that it stands in. */
const CONTROL = /[\u0000-\u001f\u007f]/

/** A directory becomes absolute, and so does `project`, the one around the caller; a project's id or alias, and `portfolio`, have no slash and stay as they are. */
export function parseScope(cli: Pick<Cli, 'cwd'>): (said: string) => string {
  return (said) => {
    if (said === PROJECT_HERE) return placeFrom(cli, '.')
    const scope = IS_PATH.test(said) ? placeFrom(cli, said) : said
    if (CallerContext.safeParse({ scope }).success && !CONTROL.test(scope)) return scope
    throw new InvalidArgumentError("It must be a project's id, its alias, its directory, or portfolio.")
  }
}

/** A place as a person says it. Where they stand counts only for what is no whole path: it may be gone. */
export function placeFrom(cli: Pick<Cli, 'cwd'>, said: string): string {
  return path.isAbsolute(said) ? path.resolve(said) : path.resolve(cli.cwd, said)
}

/** The same error, or one whose hint names the directory that may have been meant. */
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
  const hint = `For the directory of this name here say --scope ./${scope}`
  return new TurnbellError(code, { detail, hint, cause: error })
}
