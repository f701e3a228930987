/**
 * One git repository. All calls of git in this module use it, and all arguments are safe: revisions are full object names,
 * paths follow `--`, other values are part of their option. Files on disk are read only with `readFile`.
 */
import path from 'node:path'
import { textOf } from './output.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { GitOutput, GitRunner, GitRunOptions, GitWorkTree } from '../../ports/git.ts'

export interface ReadOptions extends GitRunOptions {
  /** Returns partial output after a timeout instead of throwing. */
  partial?: boolean
  /** Exit code 1 means an empty result. */
  may_find_nothing?: boolean
}

export interface Repository extends Pick<GitWorkTree, 'top' | 'prefix' | 'readFile' | 'holds'> {
  /** Runs git. Throws `git_failed` with its error message, and `timed_out`. */
  read(args: readonly string[], options?: ReadOptions): Promise<GitOutput>
  /** Returns the full object name of a commit. Throws `revision_unknown`. */
  commit(revision: string): Promise<string>
  /** As `commit`, but returns null for an unknown revision. */
  find(revision: string): Promise<string | null>
  /** Returns the object name of the empty tree, with which the first commit is compared. */
  emptyTree(): Promise<string>
  /** Returns a path relative to the top. Throws `params_invalid` for a path outside the work tree. */
  inside(given: string): string
  /** As `inside`, but also throws for a link out of the work tree. */
  onDisk(given: string): string
}

/** Throws `repository_unknown` for a directory without a work tree. */
export async function openRepository(git: GitRunner, directory: string): Promise<Repository> {
  const tree = await git.open(directory)
  const { top } = tree

  const run = async (args: readonly string[], options: ReadOptions = {}) => {
    const { partial = false, may_find_nothing: _, ...rest } = options
    const output = await tree.run(args, rest)
    if (output.stopped !== 'time_over' || partial) return output
    throw new TurnbellError('timed_out', {
      detail: `git ${args[0] ?? ''} timed out in ${top}.`,
      hint: 'Narrow the request with a path, a later since or a lower limit.',
    })
  }
  const read: Repository['read'] = async (args, options) => {
    const output = await run(args, options)
    const nothing = options?.may_find_nothing === true && output.exit_code === 1
    if (output.stopped !== null || output.exit_code === 0 || nothing) return output
    throw new TurnbellError('git_failed', { detail: `git ${args[0] ?? ''}: ${output.complaint}` })
  }
  const find: Repository['find'] = async (revision) => {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]
    // A single line, because a range returns two.
    return /^([0-9a-f]{40,64})\n$/.exec(textOf((await run(args)).stdout))?.[1] ?? null
  }

  const inside = (given: string) => {
    if (!path.isAbsolute(given)) return within(top, given, given)
    // The root that an agent knows may be a link.
    const whole = isInside(top, given) ? given : tree.resolve(given)
    return within(top, path.relative(top, whole), given)
  }

  return {
    top,
    prefix: tree.prefix,
    read,
    find,
    inside,
    readFile: (name, bytes_max) => tree.readFile(name, bytes_max),
    holds: (name) => tree.holds(name),
    onDisk(given) {
      const found = inside(given)
      if (isInside(top, tree.resolve(path.join(top, found)))) return found
      throw outside(top, given)
    },
    async commit(revision) {
      const sha = await find(revision)
      if (sha !== null) return sha
      throw new TurnbellError('revision_unknown', {
        detail: `${JSON.stringify(revision)} is not the name of exactly one commit of ${top}.`,
      })
    },
    async emptyTree() {
      const { stdout } = await read(['hash-object', '-t', 'tree', '--stdin'])
      return textOf(stdout).trim()
    },
  }
}

/** Normalizes a path below the top, with slashes. */
function within(top: string, relative: string, given: string): string {
  const found = path.normalize(relative)
  if (isInside(top, path.join(top, found)) && !path.isAbsolute(found)) return found.replaceAll(path.sep, '/')
  throw outside(top, given)
}

function outside(top: string, given: string): TurnbellError {
  return new TurnbellError('params_invalid', {
    detail: `path: ${JSON.stringify(given)} is outside ${top}.`,
    hint: 'Pass a path relative to the top of the work tree.',
  })
}

function isInside(directory: string, given: string): boolean {
  const relative = path.relative(directory, given)
  return !path.isAbsolute(relative) && relative !== '..' && !relative.startsWith(`..${path.sep}`)
}
