/** A project's records on a real disk, as the store sees them and as somebody else does who writes there. */
import fs from 'node:fs'
import path from 'node:path'
import type { RejectedRecord } from '../../src/storage/file/record-folder.ts'
import { openProjectRecords, type ProjectRecordOptions } from '../../src/storage/file/project-records.ts'
import { temporaryDirectory } from './temporary-directory.ts'

export function projectFiles(
  pause?: (ms: number) => Promise<unknown>,
  newId?: () => string,
  more: Partial<ProjectRecordOptions> = {},
) {
  const root = temporaryDirectory()
  const notices: RejectedRecord[] = []
  const store = openProjectRecords({
    ...{ root, ...more },
    onRejected: (notice) => notices.push(notice),
    ...(pause === undefined ? {} : { pause }),
    ...(newId === undefined ? {} : { newId }),
  })
  const inside = (...names: string[]) => path.join(root, '.turnbell', ...names)
  return {
    ...{ root, store, notices, inside },
    file: (id: string) => inside('records', 'issue', `${id}.json`),
    read: (...names: string[]) => fs.readFileSync(inside(...names), 'utf8'),
    /** A write of somebody else, into the file as it stands, as many editors do. */
    write: (name: string, text: string) => fs.writeFileSync(inside('records', 'issue', name), text),
    put: (id: string, fields: object = {}) =>
      store.put('issue', id, { id, kind: 'issue', title: 'x', ...fields }),
  }
}
