/** What git needs to tell turnbell of commits: a line in the hook that it runs after each. */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Places } from '../../ports/places.ts'
import { gitLine, withoutRepository } from '../../system/git-place.ts'
import { systemPlaces } from '../../system/places.ts'
import { shellWord } from '../../system/shell-word.ts'
import type { Cli, Invocation } from '../cli.ts'
import { POST_COMMIT } from '../hooks/post-commit.ts'
import { huskyHook, requireNoManager } from './hook-managers.ts'
import { callersOf } from './place.ts'
import type { Wanted } from './wanted.ts'

/** The root of the work tree that a directory lies in; null where it lies in none. */
export function workTreeAround(cli: Cli, directory: string): string | null {
  if (!fs.existsSync(directory)) return null
  const root = ask(cli, directory, 'rev-parse', '--show-toplevel')
  return root === null || root === '' ? null : fs.realpathSync(root)
}

/**
 * @throws `repository_unknown`, and `config_invalid` for a hook that is switched off or that is not this repository's
 * alone.
 */
export function wantedByGit({ cli, home }: Invocation, project: string): Wanted[] {
  const hooks = ask(cli, project, 'rev-parse', '--git-path', 'hooks')
  const common = ask(cli, project, 'rev-parse', '--git-common-dir')
  if (hooks === null || hooks === '' || common === null) throw noWorkTree(project)
  const folder = path.resolve(project, hooks)
  const husky = huskyHook(folder, POST_COMMIT)
  const file = husky ?? path.join(folder, POST_COMMIT)
  needOwn(file, { project, common: path.resolve(project, common), places: systemPlaces(home) })
  const caller = callersOf({ cli, home }).caller(file)
  const words = [...caller.words, 'hook', POST_COMMIT, ...caller.home]
  const line = words.map(shellWord).join(' ')
  if (husky === null) {
    requireNoManager(project, file, line)
    needSwitchedOn(file, cli.platform)
  }
  // Whatever becomes of it, the hook goes on, and the commit's author hears nothing.
  const body = `${line} </dev/null >/dev/null 2>&1 || :`
  return [{ form: 'script', file, body }]
}

export function noWorkTree(directory: string): TurnbellError {
  return new TurnbellError('repository_unknown', {
    detail: `${directory} lies in no work tree of git`,
    hint: 'Run `git init` there first, or name a directory of a repository with --project.',
  })
}

function ask(cli: Cli, cwd: string, ...args: string[]): string | null {
  return gitLine({ cwd, env: withoutRepository(cli.env), within_ms: LIMITS.hook_timeout_ms }, ...args)
}

/** A person may have hooks for all repositories, by a setting or behind a link: this is about one of them. */
function needOwn(
  file: string,
  { project, common, places }: { project: string; common: string; places: Places },
): void {
  const belongs = (at: string) =>
    [project, common].some((directory) =>
      `${at}${path.sep}`.startsWith(`${places.real(directory)}${path.sep}`),
    )
  const real = places.real(file)
  if (belongs(real)) return
  const own = path.join(common, 'hooks')
  const instead = belongs(file)
    ? `Put a file of its own in the place of the link at ${file} or above it`
    : `Have git run hooks of its own there, in place of those: \`git -C ${shellWord(project)} config core.hooksPath ${shellWord(own)}\``
  throw new TurnbellError('config_invalid', {
    detail: `${real} belongs neither to ${project} nor to its repository: others may run it, too`,
    hint: `${instead}; then connect again. Nothing was changed.`,
  })
}

/** git passes over a hook that nobody may execute: its owner does not want it to run. */
function needSwitchedOn(file: string, platform: NodeJS.Platform): void {
  if (platform === 'win32') return
  let mode: number | undefined
  try {
    mode = fs.statSync(file, { throwIfNoEntry: false })?.mode
  } catch {
    // Reading it will say why.
    return
  }
  if (mode === undefined || (mode & 0o100) !== 0) return
  throw new TurnbellError('config_invalid', {
    detail: `${file} is not executable, so git runs nothing of it`,
    hint: `\`chmod +x ${shellWord(file)}\` where it is to run, else move it away; then connect again. Nothing was changed.`,
  })
}
