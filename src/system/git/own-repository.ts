/**
 * Checks that a git repository reads nothing outside of itself, and pins it while git runs.
 *
 * A file in a project can redirect git: a `.git` file with a foreign `gitdir`, a link in place of a directory, a list
 * of alternates. Only these repositories are used: a `.git` directory; a linked work tree that its repository lists; a
 * submodule whose repository names it as its work tree. The last two are proven by a file of that repository, which
 * cannot be forged with write access to the project only.
 *
 * A check alone would not be safe, because a directory can be swapped before git starts. So its directories are opened,
 * and the open directories are both checked and used, through `/proc/self/fd`. Changes in the object directories, where
 * alternates and links could appear, are detected by their timestamps. Without `/proc`, paths are used and compared
 * before and after.
 */
import fs from 'node:fs'
import path from 'node:path'
import { isAt, isWithin, readInside } from '../files/inside.ts'
import { linkedFolder } from '../files/path-inspector.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

/** Directories of a repository, as real paths. */
export interface RepositoryPlace {
  /** Root of the work tree. */
  top: string
  /** Directory of this work tree: HEAD and index. */
  git_dir: string
  /** Directory shared by all work trees: refs, objects, configuration. */
  common_dir: string
}

/** Reason why a repository is not used, for its owner. */
export interface Stray {
  detail: string
  hint: string
}

/** Returns the values of a configuration file that match the pattern; empty if there are none. */
export type AskConfig = (file: string, pattern: string) => Promise<string[]>

/** Returns the repository whose work tree starts at `top`, a real path. */
export async function ownRepository(top: string, ask: AskConfig): Promise<RepositoryPlace | Stray> {
  const git = path.join(top, '.git')
  const stat = fs.lstatSync(git, { throwIfNoEntry: false })
  if (stat?.isDirectory() === true) {
    // Git would use the repository that it names.
    if (fs.existsSync(path.join(git, 'commondir'))) return stray(top, 'its .git directory has a commondir')
    return { top, git_dir: git, common_dir: git }
  }
  if (stat?.isFile() !== true) return stray(top, '.git is a link or not a plain file')
  const linked = linkedFolder(top)
  if (linked !== null) return { top, git_dir: linked.folder, common_dir: linked.repository }
  const read = readInside(top, '.git', LIMITS.git_pointer_bytes_max)
  const named = 'why' in read ? undefined : /^gitdir: (.+?)\s*$/.exec(read.bytes.toString())?.[1]
  if (named === undefined) return stray(top, '.git is a file that names no repository')
  const folder = realOrNull(path.resolve(top, named))
  if (folder === null) return stray(top, 'the repository that .git names is not there')
  if (!fs.existsSync(path.join(folder, 'commondir'))) {
    const trees = await ask(path.join(folder, 'config'), '^core\\.worktree$')
    const tree = trees.at(-1)
    if (tree !== undefined && realOrNull(path.resolve(folder, tree)) === top)
      return { top, git_dir: folder, common_dir: folder }
  }
  return {
    detail: `${git} names a repository that does not list this directory as its work tree.`,
    hint: `To allow it, configure that repository: \`git --git-dir=DIR config core.worktree WORK_TREE\`; for a work tree, \`git worktree repair\`.`,
  }
}

/** A repository with open directories. */
export interface HeldRepository {
  place: RepositoryPlace
  /** Descriptors in the order of `DIRECTORIES`; empty without `/proc`. */
  descriptors: readonly number[]
  /** Returns a path for this process that stays valid when the directory is renamed. */
  at(directory: Directory): string
  /** Changes if a directory is replaced. */
  ids: string
  /** Changes if alternates, packs or object directories are added or removed. */
  stamp(): string
  /** Time since the last of these changes. */
  age_ms(): number
  close(): void
}

export const DIRECTORIES = ['top', 'git_dir', 'common_dir', 'objects'] as const
export type Directory = (typeof DIRECTORIES)[number]

const OPEN_DIRECTORY =
  fs.constants.O_RDONLY | (fs.constants.O_DIRECTORY ?? 0) | (fs.constants.O_NOFOLLOW ?? 0)
const HAS_PROC = process.platform === 'linux' && fs.existsSync('/proc/self/fd')

/** Opens the directories. Returns null if one is missing or a link. */
export function holdRepository(place: RepositoryPlace): HeldRepository | null {
  const paths = { ...place, objects: path.join(place.common_dir, 'objects') }
  const descriptors: number[] = []
  const close = () => {
    for (const fd of descriptors.splice(0)) fs.closeSync(fd)
  }
  try {
    const ids = DIRECTORIES.map((directory) => {
      const name = paths[directory]
      if (!HAS_PROC) return idOf(fs.lstatSync(name))
      const fd = fs.openSync(name, OPEN_DIRECTORY)
      descriptors.push(fd)
      const stat = fs.fstatSync(fd)
      if (!isAt(fd, stat, name)) throw new Error(`${name} leads elsewhere`)
      return idOf(stat)
    }).join(' ')
    const at = (directory: Directory) =>
      HAS_PROC ? `/proc/self/fd/${descriptors[DIRECTORIES.indexOf(directory)]}` : paths[directory]
    const objects = () =>
      ['.', 'info', 'pack'].map((name) =>
        fs.lstatSync(path.join(at('objects'), name), { throwIfNoEntry: false, bigint: true }),
      )
    const stamp = () =>
      objects()
        .map((stat) => `${stat?.ino}:${stat?.ctimeNs}`)
        .join(' ')
    const age_ms = () =>
      Math.min(...objects().map((stat) => Math.abs(Date.now() - Number(stat?.ctimeMs ?? Infinity))))
    return { place, descriptors, at, ids, stamp, age_ms, close }
  } catch (error) {
    close()
    const { code = '', message } = error as NodeJS.ErrnoException
    if (!['EMFILE', 'ENFILE'].includes(code)) return null
    throw new TurnbellError('git_unavailable', { detail: message, cause: error })
  }
}

function idOf(stat: fs.Stats): string {
  return `${stat.dev}:${stat.ino}`
}

/** Returns the entry that leads git out of an open repository, or null. */
export async function strayOf(held: HeldRepository, ask: AskConfig): Promise<Stray | null> {
  const { place } = held
  const alternates = path.join(held.at('objects'), 'info', 'alternates')
  if (hasText(alternates)) {
    return {
      detail: `${place.common_dir} uses objects of another repository (objects/info/alternates).`,
      hint: 'Make it complete: `git repack -a -d`, then remove .git/objects/info/alternates.',
    }
  }
  for (const directory of ['git_dir', 'common_dir'] as const) {
    if (directory === 'common_dir' && place.common_dir === place.git_dir) continue
    const entry = strayEntry(held.at(directory), '', place)
    if (entry !== null) return stray(place.top, `${path.join(place[directory], entry.name)} ${entry.what}`)
    for (const config of CONFIGS) {
      const included = await outsideInclude(held, directory, config, ask)
      if (included !== null) return stray(place.top, `${config} includes ${included}, which is outside of it`)
    }
  }
  return null
}

const CONFIGS = ['config', 'config.worktree']

function hasText(file: string): boolean {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return false
  return (
    !stat.isFile() ||
    stat.size > LIMITS.git_alternates_bytes_max ||
    fs.readFileSync(file, 'utf8').trim() !== ''
  )
}

/** Top-level directories that the used git commands do not read; people may link them. */
const SKIPPED: ReadonlySet<string> = new Set(['hooks', 'lfs', 'annex', 'modules', 'worktrees', 'rr-cache'])
/** Directories whose entries git reads. */
const LOOKED_INTO = /^(refs|logs|info|reftable|objects)(\/|$)/
/** Files that contain only the name of a commit or branch. */
const NAMES_A_COMMIT = /^(HEAD$|refs\/)/

/**
 * Returns the first entry that is a link out of the repository, or not a regular file. `base` is the current path of
 * its directory.
 */
function strayEntry(
  base: string,
  below: string,
  place: RepositoryPlace,
): { name: string; what: string } | null {
  for (const entry of fs.readdirSync(path.join(base, below), { withFileTypes: true })) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`
    if (below === '' && SKIPPED.has(name)) continue
    if (entry.isSymbolicLink()) {
      if (isOutside(base, below, name, place))
        return { name, what: 'is a link that leads out of the repository' }
    } else if (entry.isFIFO() || entry.isCharacterDevice() || entry.isBlockDevice()) {
      return { name, what: 'is not a plain file' }
    } else if (entry.isDirectory()) {
      const found = LOOKED_INTO.test(name) ? strayEntry(base, name, place) : null
      if (found !== null) return found
    } else if (NAMES_A_COMMIT.test(name) && isShared(path.join(base, name))) {
      return { name, what: 'has a second name (a hard link)' }
    }
  }
  return null
}

function isOutside(base: string, below: string, name: string, place: RepositoryPlace): boolean {
  const link = path.join(base, name)
  // An old-style HEAD is a link to a branch, which may have no commit.
  const target =
    realOrNull(link) ?? path.resolve(fs.realpathSync.native(path.join(base, below)), readLink(link))
  return !isWithin(place.git_dir, target) && !isWithin(place.common_dir, target)
}

function readLink(link: string): string {
  try {
    return fs.readlinkSync(link)
  } catch {
    return '/'
  }
}

function isShared(file: string): boolean {
  return (fs.lstatSync(file, { throwIfNoEntry: false })?.nlink ?? 1) > 1
}

/**
 * Returns a file outside of the work tree and the repository that the configuration includes directly or indirectly.
 */
async function outsideInclude(
  held: HeldRepository,
  directory: 'git_dir' | 'common_dir',
  config: string,
  ask: AskConfig,
): Promise<string | null> {
  const { place } = held
  const seen = new Set<string>()
  const files = [path.join(place[directory], config)]
  for (let file = files.pop(); file !== undefined; file = files.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    if (seen.size > LIMITS.git_includes_max) return 'too many files'
    const folder = path.dirname(file)
    const read = readInside(folder, path.basename(file), LIMITS.git_config_bytes_max)
    if ('why' in read) {
      if (read.why === 'missing') continue
      return 'what cannot be checked'
    }
    // Fast path: most configurations have no includes.
    if (!/\[\s*include/i.test(read.bytes.toString('latin1'))) continue
    for (const one of await ask(file, '^include(if\\..*)?\\.path$')) {
      // Not normalized, because git also lets the system resolve `link/../file`.
      const included = path.isAbsolute(one) ? one : `${folder}/${one}`
      const real = one.startsWith('~') ? null : realOrNull(included)
      const is_inside =
        real !== null && [place.top, place.git_dir, place.common_dir].some((where) => isWithin(where, real))
      if (!is_inside) return one
      files.push(included)
    }
  }
  return null
}

function realOrNull(given: string): string | null {
  try {
    return fs.realpathSync.native(given)
  } catch {
    return null
  }
}

function stray(top: string, what: string): Stray {
  return {
    detail: `The repository of ${top} is not used, because it refers to a path outside: ${what}.`,
    hint: 'Move the referenced path into the repository, or remove the reference.',
  }
}
