/** Looks at the file system: where its links lead, and what its directories hold. */
import fs from 'node:fs'
import path from 'node:path'
import type { Places, WorkTree } from '../ports/places.ts'
import type { Home } from './home.ts'

/** What a project's memory is called, and a person's home as well. */
const FOLDER = '.turnbell'

/** `home`: the one that is a home whatever it is called. */
export function systemPlaces(home: Pick<Home, 'root'>): Places {
  const isHome = (folder: string) => real(folder) === real(home.root) || holdsSecrets(folder)

  const holdsHome: Places['holdsHome'] = (directory) => {
    if (isHome(path.join(directory, FOLDER))) return true
    const place = real(directory)
    return place === real(home.root) || foldersOn(place).some(isHome)
  }

  return {
    real,
    holdsHome,
    holdsMemory(directory, above = false) {
      const folder = path.join(directory, FOLDER)
      return isDirectory(folder) && !(above && isOthers(folder)) && !holdsHome(directory)
    },
    // A file in a work tree that shares the repository of another, and in a submodule.
    holdsRepository(directory, above = false) {
      const git = path.join(directory, '.git')
      return fs.existsSync(git) && !(above && isOthers(git))
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

/**
 * `.git` in a linked work tree is a file that names its folder in the repository, `worktrees/NAME`. That names the work
 * tree in turn: otherwise anybody could claim to belong to a repository. A submodule has no `commondir`.
 */
function workTreeAt(top: string): WorkTree | null {
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
  // A bare repository has no work tree of its own.
  return belongs && path.basename(repository) === '.git' ? { top, main: path.dirname(repository) } : null
}

/** Null for a name that no file can have, and for what cannot be looked at. */
function entryAt(file: string): fs.Stats | null {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false }) ?? null
  } catch {
    return null
  }
}

/** What git writes into these files is one path. */
const LINE_BYTES_MAX = 8_192

/** Null if there is no such plain file, or more in it than a line. */
function lineIn(file: string): string | null {
  try {
    const stat = fs.statSync(file)
    if (!stat.isFile() || stat.size > LINE_BYTES_MAX) return null
    return fs.readFileSync(file, 'utf8').trim()
  } catch {
    return null
  }
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder)
  } catch {
    return []
  }
}

function real(given: string): string {
  try {
    return fs.realpathSync.native(given)
  } catch {
    // Not there, or not to be looked into: then what is above it may still be behind a link.
    const parent = path.dirname(given)
    return parent === given ? given : path.join(real(parent), path.basename(given))
  }
}

/** The folders of that name that a directory is, or lies in. */
function foldersOn(directory: string): string[] {
  const parent = path.dirname(directory)
  if (parent === directory) return []
  return [...(path.basename(directory) === FOLDER ? [directory] : []), ...foldersOn(parent)]
}

/** What only a home does, whatever it is called. */
export function holdsSecrets(folder: string): boolean {
  try {
    return fs.statSync(path.join(folder, 'secrets'), { throwIfNoEntry: false })?.isDirectory() === true
  } catch (error) {
    // What its owner lets nobody look into is most likely the home of another person.
    return (error as NodeJS.ErrnoException).code === 'EACCES'
  }
}

/** By whom it was put there, also where it is a link to something of one's own. */
function isOthers(place: string): boolean {
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
