/** Finds repositories and runs git in a found repository and in no other. */
import fs from 'node:fs'
import path from 'node:path'
import { setImmediate as breathe, setTimeout as wait } from 'node:timers/promises'
import {
  createGitProgram,
  SOMEWHERE,
  type GitEnded,
  type GitProgram,
  type GitProgramNeeds,
  type GitWhere,
} from './git.ts'
import { isWithin, readInside, realPath } from '../files/inside.ts'
import {
  DIRECTORIES,
  holdRepository,
  ownRepository,
  strayOf,
  type AskConfig,
  type HeldRepository,
  type RepositoryPlace,
  type Stray,
} from './own-repository.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { GitRunner, GitWorkTree } from '../../ports/git.ts'

export interface GitRunnerNeeds extends GitProgramNeeds {
  /** Directories in which no file is read: the home. */
  closed?: readonly string[]
}

export function createGitRunner({ closed = [], ...needs }: GitRunnerNeeds): GitRunner {
  const program = createGitProgram(needs)
  const git: GitAccess = { program, ask: createConfigReader(program), closed }
  return { open: (directory) => program.take(() => openWorkTree(git, directory)) }
}

interface GitAccess {
  program: GitProgram
  ask: AskConfig
  closed: readonly string[]
}

/** Returns a function that reads one configuration file without its includes. */
function createConfigReader(program: GitProgram): AskConfig {
  return async (file, pattern) => {
    const args = ['config', '--file', file, '--no-includes', '-z', '--get-regexp', pattern]
    const { stdout } = await program.within(SOMEWHERE, args)
    const settings = Buffer.from(stdout).toString().split('\0').slice(0, -1)
    return settings.map((setting) => setting.slice(setting.indexOf('\n') + 1))
  }
}

async function openWorkTree(git: GitAccess, directory: string): Promise<GitWorkTree> {
  const { program, ask, closed } = git
  const { top, prefix } = splitTop(directory, await program.within(directory, FIND_TOP))
  // The directory became a link after its real path was determined.
  if (!isWithin(top, directory)) throw refused(isNotHeld({ top: directory }))
  const place = await ownRepository(top, ask)
  if ('hint' in place) throw refused(place)
  return {
    top,
    prefix,
    run: createRun(git, place, checkedOf(await openChecked(place, ask))),
    async readFile(name, bytes_max) {
      // Yields to the event loop between reads.
      await breathe()
      const read = readInside(top, name, bytes_max, closed)
      if ('why' in read) return { too_large: read.why === 'too_large', reason: read.reason }
      return { bytes: read.bytes, path: path.relative(top, read.path).replaceAll(path.sep, '/') }
    },
    resolve: realPath,
    holds(name) {
      const entry = path.join(top, name).replace(/\/+$/, '')
      const folder = path.dirname(entry)
      if (realPath(folder) !== folder) return false
      return NOT_TEXT.test(name) || fs.lstatSync(entry, { throwIfNoEntry: false }) !== undefined
    },
  }
}

/** Opens the repository and checks it. Throws `repository_unknown`. */
async function openChecked(place: RepositoryPlace, ask: AskConfig): Promise<HeldRepository> {
  const repository = holdRepository(place)
  if (repository === null) throw refused(isNotHeld(place))
  try {
    // A second change within one clock step would have the same timestamp.
    if (repository.age_ms() < CLOCK_STEP_MS) await wait(CLOCK_STEP_MS)
    const stray = await strayOf(repository, ask)
    if (stray !== null) throw refused(stray)
    return repository
  } catch (error) {
    repository.close()
    throw error
  }
}

/** Returns a function that runs git, and repeats a run during which the repository has changed. */
function createRun(
  { program, ask }: GitAccess,
  place: RepositoryPlace,
  opened: CheckedRepository,
): GitWorkTree['run'] {
  let checked = opened

  /** Runs once. Returns null if the repository changed meanwhile, because the output may be of another one. */
  const runOnce = async (args: readonly string[], options: Parameters<GitWorkTree['run']>[1]) => {
    const held = holdRepository(place)
    if (held === null || held.ids !== checked.ids) {
      held?.close()
      throw refused(isNotHeld(place))
    }
    try {
      const output = await program.within(whereOf(held), args, options)
      return held.stamp() === checked.stamp && isInPlace(held) ? output : null
    } finally {
      held.close()
    }
  }

  return (args, options) =>
    program.take(async () => {
      for (let tries = 1; tries <= LIMITS.git_tries_max; tries += 1) {
        const output = await runOnce(args, options)
        if (output !== null) return output
        await wait(CLOCK_STEP_MS)
        checked = checkedOf(await openChecked(place, ask))
      }
      throw new TurnbellError('git_failed', {
        detail: `The repository of ${place.top} kept changing while git read it.`,
        hint: 'Try again in a moment.',
      })
    })
}

/** A name with invalid UTF-8, which cannot be passed back to git. */
const NOT_TEXT = /\ufffd[^/]*\/?$/

/** Resolution of file timestamps: a second change within it is not visible. */
const CLOCK_STEP_MS = 10

/** Cached result of a check. */
interface CheckedRepository {
  ids: string
  stamp: string
}

function checkedOf(held: HeldRepository): CheckedRepository {
  const known = { ids: held.ids, stamp: held.stamp() }
  held.close()
  return known
}

/** Without `/proc` git used paths, which must still lead to the same directories. */
function isInPlace({ place, ids, descriptors }: HeldRepository): boolean {
  if (descriptors.length > 0) return true
  const now = holdRepository(place)
  now?.close()
  return now?.ids === ids
}

const FIRST_DESCRIPTOR = 3

/** Git uses the open directories, even if their names changed. */
function whereOf(held: HeldRepository): GitWhere {
  const { descriptors } = held
  const [, git_dir, common_dir, objects] = DIRECTORIES.map((directory, nth) =>
    descriptors.length > 0 ? `/proc/self/fd/${FIRST_DESCRIPTOR + nth}` : held.at(directory),
  )
  return {
    // In the environment of this process; the child has the descriptor only after its start.
    cwd: held.at('top'),
    env: {
      GIT_DIR: git_dir,
      GIT_COMMON_DIR: common_dir,
      GIT_OBJECT_DIRECTORY: objects,
      GIT_WORK_TREE: '.',
    },
    descriptors,
  }
}

const FIND_TOP = ['rev-parse', '--is-inside-work-tree', '--show-prefix', '--show-toplevel']

/** Splits git's output into the root of the work tree and the position of the directory in it. */
function splitTop(directory: string, output: GitEnded): { top: string; prefix: string } {
  const lines = Buffer.from(output.stdout).toString()
  const [, prefix = '', top = ''] = /^true\n(.*?)\n(.+)\n$/s.exec(lines) ?? []
  const real = path.isAbsolute(top) ? realPath(top) : null
  if (real !== null && fs.existsSync(real)) return { top: real, prefix }
  const { complaint } = output
  if (complaint.includes('dubious ownership'))
    throw new TurnbellError('git_failed', { detail: `git rev-parse: ${complaint}` })
  throw new TurnbellError('repository_unknown', {
    detail: `${directory} is not in the work tree of a git repository. ${complaint}`,
  })
}

function isNotHeld({ top }: Pick<RepositoryPlace, 'top'>): Stray {
  return {
    detail: `The repository of ${top} is not used: one of its directories is a link, is missing, or was replaced.`,
    hint: 'Check .git and .git/objects there, then try again.',
  }
}

function refused({ detail, hint }: Stray): TurnbellError {
  return new TurnbellError('repository_unknown', { detail, hint })
}
