/** Inspects directories: real paths, repositories, memories and homes. */
import fs from 'node:fs'
import path from 'node:path'
import { realPath as real } from './inside.ts'
import { readPlainFile } from './safe-read.ts'
import type { PathInspector, WorkTree } from '../../ports/path-inspector.ts'
import type { Home } from '../config/home.ts'

/** Name of a project's memory, and of the default home. */
const FOLDER = '.turnbell'

/** `home`: the home, whatever its name is. */
export function systemPathInspector(home: Pick<Home, 'root'>): PathInspector {
  const isHome = (folder: string) => real(folder) === real(home.root) || holdsSecrets(folder)

  const holdsHome: PathInspector['hasHome'] = (directory) => {
    if (isHome(path.join(directory, FOLDER))) return true
    const place = real(directory)
    return place === real(home.root) || memoryDirectoriesIn(place).some(isHome)
  }

  return {
    realPath: real,
    hasHome: holdsHome,
    hasMemory(directory, above = false) {
      const folder = path.join(directory, FOLDER)
      return isDirectory(folder) && !(above && isForeign(folder)) && !holdsHome(directory)
    },
    // In a linked work tree and in a submodule it is a file.
    hasRepository(directory, above = false) {
      const git = path.join(directory, '.git')
      return fs.existsSync(git) && !(above && isForeign(git))
    },
    linkedWorkTree,
    workTreesOf(main) {
      const lists = path.join(main, '.git', 'worktrees')
      const tops = namesIn(lists).flatMap((name) => {
        const git = lineIn(path.join(lists, name, 'gitdir'))
        return git === null ? [] : [path.dirname(path.resolve(lists, name, git))]
      })
      return tops.map(real).filter((top) => workTreeAt(top)?.main === real(main))
    },
  }
}

function linkedWorkTree(place: string): WorkTree | null {
  for (let top = real(place); ; top = path.dirname(top)) {
    const git = entryAt(path.join(top, '.git'))
    if (git !== null) return git.isFile() ? workTreeAt(top) : null
    if (path.dirname(top) === top) return null
  }
}

function workTreeAt(top: string): WorkTree | null {
  const repository = linkedFolder(top)?.repository
  // A bare repository has no work tree.
  return repository !== undefined && path.basename(repository) === '.git'
    ? { top, main: path.dirname(repository) }
    : null
}

/**
 * Returns the directory of a linked work tree, `worktrees/NAME` in the repository, which its `.git` file names. That
 * directory must name the work tree in turn; otherwise any directory could claim to belong to a repository. Submodules
 * have no `commondir`.
 */
export function linkedFolder(top: string): { folder: string; repository: string } | null {
  const named = /^gitdir: (.+)$/.exec(lineIn(path.join(top, '.git')) ?? '')?.[1]
  if (named === undefined) return null
  const folder = real(path.resolve(top, named))
  const common = lineIn(path.join(folder, 'commondir'))
  const back = lineIn(path.join(folder, 'gitdir'))
  if (common === null || back === null) return null
  const repository = real(path.resolve(folder, common))
  const belongs =
    path.dirname(folder) === path.join(repository, 'worktrees') &&
    real(path.dirname(path.resolve(folder, back))) === top
  return belongs ? { folder, repository } : null
}

/** Returns null for an invalid name and for an unreadable entry. */
function entryAt(file: string): fs.Stats | null {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false }) ?? null
  } catch {
    return null
  }
}

/** Git writes one path into these files. */
const LINE_BYTES_MAX = 8_192

/** Returns null if there is no such regular file, or if it has more than one line. */
function lineIn(file: string): string | null {
  const read = readPlainFile(file, LINE_BYTES_MAX)
  return Buffer.isBuffer(read) ? read.toString('utf8').trim() : null
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder)
  } catch {
    return []
  }
}

/** Returns the directories of that name in the path. */
function memoryDirectoriesIn(directory: string): string[] {
  const parent = path.dirname(directory)
  if (parent === directory) return []
  return [...(path.basename(directory) === FOLDER ? [directory] : []), ...memoryDirectoriesIn(parent)]
}

/** Whether a directory has the content of a home, whatever its name is. */
export function holdsSecrets(folder: string): boolean {
  try {
    return fs.statSync(path.join(folder, 'secrets'), { throwIfNoEntry: false })?.isDirectory() === true
  } catch (error) {
    // An unreadable directory is most likely another user's home.
    return (error as NodeJS.ErrnoException).code === 'EACCES'
  }
}

/** Whether the entry itself belongs to another user, also if it is a link. */
function isForeign(place: string): boolean {
  const uid = process.getuid?.()
  return uid !== undefined && fs.lstatSync(place, { throwIfNoEntry: false })?.uid !== uid
}

function isDirectory(directory: string): boolean {
  try {
    return fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true
  } catch {
    return false
  }
}
