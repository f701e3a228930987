/** `--scope`: which project a call is about, as a person says it. */
import path from 'node:path'
import { InvalidArgumentError } from 'commander'
import { CallerContext } from '../contracts/http.ts'

const IS_PATH = /[/\\]|^\.{1,2}$/
/** Would end the header that it stands in. */
const CONTROL = /[\u0000-\u001f\u007f]/

/** A directory becomes absolute; a project's id or alias, and `portfolio`, have no slash and stay as they are. */
export function parseScope(cwd: string): (said: string) => string {
  return (said) => {
    const scope = IS_PATH.test(said) ? path.resolve(cwd, said) : said
    if (CallerContext.safeParse({ scope }).success && !CONTROL.test(scope)) return scope
    throw new InvalidArgumentError("It must be a project's id, its alias, its directory, or portfolio.")
  }
}
