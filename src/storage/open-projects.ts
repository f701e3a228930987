/** Opens what projects keep in their own directories, each once. */
import fs from 'node:fs'
import { openProjectRecords } from './file/project-records.ts'
import type { Log } from '../ports/log.ts'
import type { RecordStore } from '../ports/record-store.ts'

/** Null where there is no such directory: it is looked for at every call, since people move and remove them. */
export type OpenProject = (root: string) => RecordStore | null

export function projectOpener({ log }: { log: Log }): OpenProject {
  const opened = new Map<string, RecordStore>()
  return (root) => {
    if (fs.statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true) return null
    const known = opened.get(root)
    if (known !== undefined) return known
    const records = openProjectRecords({
      root,
      onRejected: (notice) => log.warn(notice, 'a file that is no record was set aside'),
    })
    opened.set(root, records)
    return records
  }
}
