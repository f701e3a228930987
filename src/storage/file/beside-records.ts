/** What in a project's folder is no record: its settings, what was set aside, of which days there are archives. */
import fs from 'node:fs/promises'
import path from 'node:path'
import { LIMITS } from '../../contracts/limits.ts'
import { readPlainFile } from '../../system/plain-file.ts'
import { codeOf } from './disk.ts'
import { foldersTo, needPlainFolders } from './plain-folders.ts'
import { projectFolder } from './project-folder.ts'
import { ARCHIVE_FOLDER, archivedDay, OWN_KINDS, placeOf, RECORDS_FOLDER } from './project-layout.ts'
import { unreadable } from './refusal.ts'

const CONFIG = 'config.yml'

/** Null where there is none. */
export function readProjectConfig(root: string): string | { reason: string } | null {
  const folder = projectFolder(root)
  needPlainFolders([folder])
  const read = readPlainFile(path.join(folder, CONFIG), LIMITS.project_config_bytes_max)
  return Buffer.isBuffer(read) ? read.toString('utf8') : read
}

/** As people write it, on whatever system. */
export function nameFrom(root: string, file: string): string {
  return path.relative(root, file).replaceAll(path.sep, '/')
}

const REJECTED = 'rejected'
const REASON_ENDING = '.reason'

/** What was set aside here, without the reasons that lie beside it. Throws `store_unavailable`. */
export async function rejectedFiles(root: string, most: number): Promise<string[]> {
  const folder = projectFolder(root)
  const rejected = path.join(folder, REJECTED)
  needPlainFolders([folder, rejected])
  try {
    const entries = await fs.readdir(rejected, { withFileTypes: true, recursive: true })
    const names = entries.map((entry) => path.join(entry.parentPath, entry.name))
    const explained = new Set(
      names
        .filter((name) => name.endsWith(REASON_ENDING))
        .map((name) => name.slice(0, -REASON_ENDING.length)),
    )
    // Folders and links stand in the place of records as well; what is in such a folder went with it.
    return names
      .filter(
        (name, at) =>
          explained.has(name) || (entries[at]?.isFile() === true && !name.endsWith(REASON_ENDING)),
      )
      .filter((name) => !foldersTo(rejected, path.dirname(name)).some((folder) => explained.has(folder)))
      .slice(0, most)
      .map((name) => nameFrom(root, name))
      .sort()
  } catch (error) {
    if (['ENOENT', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) return []
    throw unreadable(rejected, error)
  }
}

/** The kinds of which there may be records here, without the archives. Throws `store_unavailable`. */
export async function kindsIn(root: string): Promise<string[]> {
  const folder = path.join(projectFolder(root), RECORDS_FOLDER)
  needPlainFolders([projectFolder(root), folder])
  try {
    const names = await fs.readdir(folder)
    return [
      ...OWN_KINDS,
      ...names.filter((name) => placeOf(name).at === path.join(RECORDS_FOLDER, name)).sort(),
    ]
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [...OWN_KINDS]
    throw unreadable(folder, error)
  }
}

/** Of which days there are archives; oldest first. Throws `store_unavailable`. */
export async function archivedDaysIn(root: string): Promise<string[]> {
  const folder = path.join(projectFolder(root), ARCHIVE_FOLDER)
  needPlainFolders([projectFolder(root), folder])
  try {
    return (await fs.readdir(folder)).flatMap((name) => archivedDay(name) ?? []).sort()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw unreadable(folder, error)
  }
}
