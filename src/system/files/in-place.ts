/** Detection of an entry in the place of one of our directories, and the command that moves it away. */
import fs from 'node:fs'
import path from 'node:path'
import { shellWord } from '../process/shell-word.ts'

/**
 * Returns the path of the entry in the place of the directory or of a parent: a file, a device, a link that does not
 * lead to a directory. Returns null if the directory exists or is missing.
 */
export function obstacleAt(directory: string): string | null {
  for (let at = path.resolve(directory); at !== path.dirname(at); at = path.dirname(at)) {
    if (isDirectory(at)) return null
    if (isThere(at)) return at
  }
  return null
}

export const moveAwayCommand = (file: string): string => `mv ${shellWord(file)} ${shellWord(`${file}.old`)}`

function isDirectory(file: string): boolean {
  try {
    return fs.statSync(file).isDirectory()
  } catch {
    return false
  }
}

function isThere(file: string): boolean {
  try {
    fs.lstatSync(file)
    return true
  } catch {
    return false
  }
}
