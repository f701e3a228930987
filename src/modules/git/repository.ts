/**
 * One repository, found from a project's root. Everything the other files ask of git goes through here,
 * and everything they pass on has been made harmless: a revision is a full object name, a path stands
 * after `--`, anything else is glued to its option.
 */
import path from 'node:path'
import { textOf } from './output.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { GitOutput, GitRunner, GitRunOptions } from '../../ports/git.ts'

export interface ReadOptions extends GitRunOptions {
  /** Take what was said until the time was over, instead of refusing. */
  partial?: boolean
  /** An exit code of 1 only says that there is nothing. */
  may_find_nothing?: boolean
}

export interface Repository {
  /** The top directory of the work tree. Git runs there, so that all paths are relative to it. */
  top: string
  /** Where below the top the project's root lies, with a slash at its end; empty where it is the top. */
  prefix: string
  /** Runs git. Throws `git_failed` with its complaint, `timed_out` when it took too long. */
  read(args: readonly string[], options?: ReadOptions): Promise<GitOutput>
  /** The full name of a commit. Throws `revision_unknown`. */
  commit(revision: string): Promise<string>
  /** The same, or null. */
  find(revision: string): Promise<string | null>
  /** What the first commit is compared with. */
  emptyTree(): Promise<string>
  /** A path as git takes it. Throws `params_invalid` for one that leads out of the work tree. */
  inside(given: string): string
}

/** Throws `repository_unknown` for a directory without a work tree. */
export async function openRepository(git: GitRunner, root: string): Promise<Repository> {
  const { top, prefix } = await placeOf(git, root)

  const run = async (args: readonly string[], options: ReadOptions = {}) => {
    const { partial = false, may_find_nothing: _, ...rest } = options
    const output = await git.run(top, args, rest)
    if (output.stopped !== 'time_over' || partial) return output
    throw new TurnbellError('timed_out', {
      detail: `git ${args[0] ?? ''} took too long in ${top}.`,
      hint: 'Ask for less: a path, a later since, a lower limit.',
    })
  }
  const read: Repository['read'] = async (args, options) => {
    const output = await run(args, options)
    const nothing = options?.may_find_nothing === true && output.exit_code === 1
    if (output.stopped === null && output.exit_code !== 0 && !nothing) throw failed(args, output)
    return output
  }
  const find: Repository['find'] = async (revision) => {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]
    // One line: a range would have two.
    return /^([0-9a-f]{40,64})\n$/.exec(textOf((await run(args)).stdout))?.[1] ?? null
  }

  return {
    top,
    prefix,
    read,
    find,
    async commit(revision) {
      const sha = await find(revision)
      if (sha !== null) return sha
      throw new TurnbellError('revision_unknown', {
        detail: `${JSON.stringify(revision)} names no commit of ${top}, or more than one.`,
      })
    },
    async emptyTree() {
      const { stdout } = await read(['hash-object', '-t', 'tree', '--stdin'])
      return textOf(stdout).trim()
    },
    inside(given) {
      if (!path.isAbsolute(given)) return within(top, given, given)
      if (leadsInto(top, given)) return within(top, path.relative(top, given), given)
      // An agent knows its project's root by the name it was given, which may be a link to where git says it is.
      return within(top, path.join(prefix, path.relative(root, given)), given)
    },
  }
}

/** The top of the work tree that a directory lies in, and where in it the directory lies. */
async function placeOf(git: GitRunner, root: string): Promise<{ top: string; prefix: string }> {
  const args = ['rev-parse', '--is-inside-work-tree', '--show-prefix', '--show-toplevel']
  const output = await git.run(root, args)
  const [, prefix = '', top = ''] = /^true\n(.*?)\n(.+)\n$/s.exec(textOf(output.stdout)) ?? []
  if (path.isAbsolute(top)) return { top, prefix }
  if (output.stderr.includes('dubious ownership')) throw failed(args, output)
  throw new TurnbellError('repository_unknown', {
    detail: `${root} does not lie in the work tree of a git repository. ${complaint(output)}`,
  })
}

function failed(args: readonly string[], output: GitOutput): TurnbellError {
  return new TurnbellError('git_failed', { detail: `git ${args[0] ?? ''}: ${complaint(output)}` })
}

const COMPLAINT_LENGTH_MAX = 500

function complaint({ stderr, exit_code }: GitOutput): string {
  const told = stderr.replace(/^(fatal|error): /gm, '').trim()
  return told === '' ? `It ended with code ${exit_code ?? 'none'}.` : told.slice(0, COMPLAINT_LENGTH_MAX)
}

/** One spelling of a path below the top, with slashes. */
function within(top: string, relative: string, given: string): string {
  const found = path.normalize(relative)
  if (leadsInto(top, path.join(top, found)) && !path.isAbsolute(found)) return found.replaceAll(path.sep, '/')
  throw new TurnbellError('params_invalid', {
    detail: `path: ${JSON.stringify(given)} lies outside ${top}.`,
    hint: 'Name it relative to the top of the work tree.',
  })
}

function leadsInto(directory: string, given: string): boolean {
  const relative = path.relative(directory, given)
  return !path.isAbsolute(relative) && relative !== '..' && !relative.startsWith(`..${path.sep}`)
}
