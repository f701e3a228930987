/** Opens what projects keep in their own directories, each once. */
import fs from 'node:fs'
import { archivedDaysIn, nameFrom, readProjectConfig, rejectedFiles } from './file/beside-records.ts'
import { codeOf } from './file/disk.ts'
import { unreadable } from './file/refusal.ts'
import { readProjectText } from './file/project-text.ts'
import { openProjectRecords } from './file/project-records.ts'
import { createVectorFile } from './file/vector-file.ts'
import type { Log } from '../ports/log.ts'
import type { ProjectStore } from '../ports/project-store.ts'

/** A name that no directory can have is that of none. Throws `store_unavailable`. */
function isDirectory(root: string): boolean {
  try {
    return fs.statSync(root, { throwIfNoEntry: false })?.isDirectory() === true
  } catch (error) {
    if (['ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE'].includes(codeOf(error) ?? '')) return false
    throw unreadable(root, error)
  }
}

/** Null where there is no such directory: it is looked for at every call, since people move and remove them. */
export type OpenProject = (root: string) => ProjectStore | null

export interface ProjectNeeds {
  log: Log
  /** Names what somebody has written down by hand without an id. */
  newId?: () => string
}

export function projectOpener({ log, newId }: ProjectNeeds): OpenProject {
  const opened = new Map<string, ProjectStore>()
  return (root) => {
    if (!isDirectory(root)) return null
    const known = opened.get(root)
    if (known !== undefined) return known
    const records = openProjectRecords({
      ...{ root, stable_ids: true, group_notices: true },
      onRejected: (notice) => log.warn(notice, 'what is no record was set aside'),
      ...(newId === undefined ? {} : { newId }),
    })
    const project: ProjectStore = {
      root,
      records,
      archivedDays: () => archivedDaysIn(root),
      configText: async () => readProjectConfig(root),
      setAside: (most) => rejectedFiles(root, most),
      async unread() {
        const found = await records.unread()
        return found.map(({ file, reason }) => ({ file: nameFrom(root, file), reason }))
      },
      vectors: (of) => createVectorFile(root, of),
      readText: (file, bytes_max) => readProjectText(root, file, bytes_max),
    }
    opened.set(root, project)
    return project
  }
}
