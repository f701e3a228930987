/** The entry for git: a line in the post-commit hook. */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { PathInspector } from '../../ports/path-inspector.ts'
import { gitLine, withoutRepository } from '../../system/git/git-query.ts'
import { systemPathInspector } from '../../system/files/path-inspector.ts'
import { shellWord } from '../../system/process/shell-word.ts'
import type { Cli, Invocation } from '../cli.ts'
import { POST_COMMIT } from '../hooks/post-commit.ts'
import { huskyHook, requireNoManager } from './hook-managers.ts'
import { callersOf } from './connection-target.ts'
import type { DesiredFile } from './desired-config.ts'

/** Returns the root of the work tree around a directory; null if there is none. */
export function workTreeAround(cli: Cli, directory: string): string | null {
  if (!fs.existsSync(directory)) return null
  const root = ask(cli, directory, 'rev-parse', '--show-toplevel')
  return root === null || root === '' ? null : fs.realpathSync(root)
}

/** Throws `repository_unknown`, and `config_invalid` for a hook that is disabled or shared with other repositories. */
export function filesForGit({ cli, home }: Invocation, project: string): DesiredFile[] {
  const hooks = ask(cli, project, 'rev-parse', '--git-path', 'hooks')
  const common = ask(cli, project, 'rev-parse', '--git-common-dir')
  if (hooks === null || hooks === '' || common === null) throw noWorkTree(project)
  const folder = path.resolve(project, hooks)
  const husky = huskyHook(folder, POST_COMMIT)
  const file = husky ?? path.join(folder, POST_COMMIT)
  requireOwnHook(file, { project, common: path.resolve(project, common), places: systemPathInspector(home) })
  const caller = callersOf({ cli, home }).caller(file)
  const words = [...caller.words, 'hook', POST_COMMIT, ...caller.home]
  const line = words.map(shellWord).join(' ')
  if (husky === null) {
    requireNoManager(project, file, line)
    requireExecutable(file, cli.platform)
  }
  // The line prints nothing and never fails, so that the rest of the hook runs.
  const body = `${line} </dev/null >/dev/null 2>&1 || :`
  return [{ form: 'script', file, body }]
}

export function noWorkTree(directory: string): TurnbellError {
  return new TurnbellError('repository_unknown', {
    detail: `${directory} is not in a work tree of git.`,
    hint: 'Run `git init` there first, or name a directory of a repository with --project.',
  })
}

function ask(cli: Cli, cwd: string, ...args: string[]): string | null {
  return gitLine({ cwd, env: withoutRepository(cli.env), within_ms: LIMITS.hook_timeout_ms }, ...args)
}

/** Throws `config_invalid` for a hook that is shared by several repositories, by core.hooksPath or a link. */
function requireOwnHook(
  file: string,
  { project, common, places }: { project: string; common: string; places: PathInspector },
): void {
  const belongs = (at: string) =>
    [project, common].some((directory) =>
      `${at}${path.sep}`.startsWith(`${places.realPath(directory)}${path.sep}`),
    )
  const real = places.realPath(file)
  if (belongs(real)) return
  const own = path.join(common, 'hooks')
  const instead = belongs(file)
    ? `Replace the link at ${file}, or the one above it, by a file`
    : `Give the repository hooks of its own: \`git -C ${shellWord(project)} config core.hooksPath ${shellWord(own)}\``
  throw new TurnbellError('config_invalid', {
    detail: `${real} belongs neither to ${project} nor to its repository, so other repositories may run it too.`,
    hint: `${instead}; then connect again. Nothing was changed.`,
  })
}

/** Throws `config_invalid` for a hook that is not executable, which git skips. */
function requireExecutable(file: string, platform: NodeJS.Platform): void {
  if (platform === 'win32') return
  let mode: number | undefined
  try {
    mode = fs.statSync(file, { throwIfNoEntry: false })?.mode
  } catch {
    // The read of the file reports the error.
    return
  }
  if (mode === undefined || (mode & 0o100) !== 0) return
  throw new TurnbellError('config_invalid', {
    detail: `${file} is not executable, so git skips it.`,
    hint: `Run \`chmod +x ${shellWord(file)}\`, or move the file away; then connect again. Nothing was changed.`,
  })
}
