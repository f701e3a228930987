/** Finds history files in a folder, without following links. */
import fs from 'node:fs'
import path from 'node:path'
import { LIMITS } from '../../../contracts/limits/limits.ts'

export interface FoundFile {
  file: string
  /** Time of the last change, in milliseconds. */
  changed_at: number
}

/** Returns the plain files whose names match, oldest change first: at most `history_files_max`, the newest. */
export function findFiles(folder: string, matches: (name: string) => boolean): FoundFile[] {
  const found: FoundFile[] = []
  const visit = (directory: string, depth: number): void => {
    for (const entry of entriesOf(directory)) {
      const file = path.join(directory, entry.name)
      if (entry.isDirectory() && depth < LIMITS.history_depth_max) visit(file, depth + 1)
      if (!entry.isFile() || !matches(entry.name)) continue
      const changed_at = fs.lstatSync(file, { throwIfNoEntry: false })?.mtimeMs
      if (changed_at !== undefined) found.push({ file, changed_at })
    }
  }
  visit(folder, 0)
  found.sort((a, b) => a.changed_at - b.changed_at || (a.file < b.file ? -1 : 1))
  return found.slice(-LIMITS.history_files_max)
}

function entriesOf(directory: string): fs.Dirent[] {
  try {
    return fs.readdirSync(directory, { withFileTypes: true })
  } catch {
    return []
  }
}
