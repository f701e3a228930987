/** Looks at the file system: where its links lead, and what its directories hold. */
import fs from 'node:fs'
import path from 'node:path'
import type { Places } from '../ports/places.ts'
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
