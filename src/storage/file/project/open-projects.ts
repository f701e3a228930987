/** Opens the stores of projects, each once. */
import fs from 'node:fs'
import { listArchivedDays, relativeName, readProjectConfig, quarantinedFiles } from './project-files.ts'
import { codeOf } from '../journal/disk.ts'
import { toReadError } from '../journal/disk-errors.ts'
import { readProjectText } from '../records/read-bounded.ts'
import { openProjectRecords } from './project-records.ts'
import { createVectorFile } from './vector-file.ts'
import { realPath } from '../../../system/files/inside.ts'
import type { Log } from '../../../ports/log.ts'
import type { ProjectStore } from '../../../ports/project-store.ts'

/** Returns whether the directory exists; false also for an impossible name. Throws `store_unavailable`. */
function isDirectory(root: string): boolean {
  try {
    return fs.statSync(root, { throwIfNoEntry: false })?.isDirectory() === true
  } catch (error) {
    if (['ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE'].includes(codeOf(error) ?? '')) return false
    throw toReadError(root, error)
  }
}

/** Returns null if the directory does not exist. Checked at every call, because people move and remove directories. */
export type OpenProject = (root: string) => ProjectStore | null

export interface ProjectDeps {
  log: Log
  /** Creates the id of a record that a person wrote without one. */
  newId?: () => string
  /** Directories from which no file is read, such as the home. */
  closed?: readonly string[]
}

export function projectOpener({ log, newId, closed = [] }: ProjectDeps): OpenProject {
  const opened = new Map<string, ProjectStore>()
  return (root) => {
    if (!isDirectory(root)) return null
    const existing = opened.get(root)
    if (existing !== undefined) return existing
    const real = realPath(root)
    const records = openProjectRecords({
      root: real,
      stable_ids: true,
      onRejected: (notice) => log.warn(notice, 'invalid record quarantined'),
      ...(newId === undefined ? {} : { newId }),
    })
    const project: ProjectStore = {
      root,
      records,
      archivedDays: () => listArchivedDays(real),
      configText: async () => readProjectConfig(real),
      quarantinedFiles: (limit) => quarantinedFiles(real, limit),
      async unreadableFiles() {
        const files = await records.unreadableFiles()
        return files.map(({ file, reason }) => ({ file: relativeName(real, file), reason }))
      },
      vectors: (of) => createVectorFile(real, of),
      readText: (file, bytes_max) =>
        realPath(root) === real
          ? readProjectText(real, file, bytes_max, closed)
          : Promise.resolve({ reason: 'the project was replaced by a link' }),
    }
    opened.set(root, project)
    return project
  }
}
