/** Files of a project's folder that are not records: its settings, quarantined files, archived days. */
import fs from 'node:fs'
import path from 'node:path'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { openPlain } from '../../../system/files/inside.ts'
import { codeOf } from '../journal/disk.ts'
import { foldersTo, checkPlainFolders } from '../records/symlink-guard.ts'
import { projectFolder } from './project-folder.ts'
import { ARCHIVE_FOLDER, archivedDay, OWN_KINDS, locationOf, RECORDS_FOLDER } from './project-layout.ts'
import { toReadError } from '../journal/disk-errors.ts'

const CONFIG = 'config.yml'

/** Returns the text of the settings, or why it cannot be read; null if there is no file. */
export function readProjectConfig(root: string): string | { reason: string } | null {
  const folder = projectFolder(root)
  checkPlainFolders([folder])
  const opened = openPlain(path.join(folder, CONFIG))
  if ('why' in opened) return opened.why === 'missing' ? null : { reason: opened.reason }
  try {
    const bytes_max: number = LIMITS.project_config_bytes_max
    if (opened.stat.size > bytes_max) return { reason: `it is larger than ${bytes_max} bytes` }
    return fs.readFileSync(opened.fd, 'utf8')
  } finally {
    fs.closeSync(opened.fd)
  }
}

/** Returns the path relative to the root, with slashes on all systems. */
export function relativeName(root: string, file: string): string {
  return path.relative(root, file).replaceAll(path.sep, '/')
}

const REJECTED = 'rejected'
const REASON_ENDING = '.reason'

/** Returns up to `limit` quarantined files, without their reason files. Throws `store_unavailable`. */
export async function quarantinedFiles(root: string, limit: number): Promise<string[]> {
  const folder = projectFolder(root)
  const rejected = path.join(folder, REJECTED)
  checkPlainFolders([folder, rejected])
  try {
    const entries = await fs.promises.readdir(rejected, { withFileTypes: true, recursive: true })
    const names = entries.map((entry) => path.join(entry.parentPath, entry.name))
    const with_reason = new Set(
      names
        .filter((name) => name.endsWith(REASON_ENDING))
        .map((name) => name.slice(0, -REASON_ENDING.length)),
    )
    // A quarantined entry may be a folder or a link; the content of such a folder is not listed.
    return names
      .filter(
        (name, at) =>
          with_reason.has(name) || (entries[at]?.isFile() === true && !name.endsWith(REASON_ENDING)),
      )
      .filter((name) => !foldersTo(rejected, path.dirname(name)).some((folder) => with_reason.has(folder)))
      .slice(0, limit)
      .map((name) => relativeName(root, name))
      .sort()
  } catch (error) {
    if (['ENOENT', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) return []
    throw toReadError(rejected, error)
  }
}

/** Returns the kinds of which there may be records, without archives. Throws `store_unavailable`. */
export async function listKinds(root: string): Promise<string[]> {
  const folder = path.join(projectFolder(root), RECORDS_FOLDER)
  checkPlainFolders([projectFolder(root), folder])
  try {
    const names = await fs.promises.readdir(folder)
    return [
      ...OWN_KINDS,
      ...names.filter((name) => locationOf(name).at === path.join(RECORDS_FOLDER, name)).sort(),
    ]
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [...OWN_KINDS]
    throw toReadError(folder, error)
  }
}

/** Returns the archived days, oldest first. Throws `store_unavailable`. */
export async function listArchivedDays(root: string): Promise<string[]> {
  const folder = path.join(projectFolder(root), ARCHIVE_FOLDER)
  checkPlainFolders([projectFolder(root), folder])
  try {
    return (await fs.promises.readdir(folder)).flatMap((name) => archivedDay(name) ?? []).sort()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw toReadError(folder, error)
  }
}
