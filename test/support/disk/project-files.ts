/** A project's records on a real disk, as the store sees them and as another program that writes there sees them. */
import fs from 'node:fs'
import path from 'node:path'
import type { QuarantineNotice } from '../../../src/storage/file/records/quarantine-file.ts'
import {
  openProjectRecords,
  type ProjectRecordOptions,
} from '../../../src/storage/file/project/project-records.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

export function projectFiles(
  pause?: (ms: number) => Promise<unknown>,
  newId?: () => string,
  more: Partial<ProjectRecordOptions> = {},
) {
  const root = temporaryDirectory()
  const notices: QuarantineNotice[] = []
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
    /** Overwrites the file in place, as many editors do. */
    write: (name: string, text: string) => fs.writeFileSync(inside('records', 'issue', name), text),
    put: (id: string, fields: object = {}) =>
      store.put('issue', id, { id, kind: 'issue', title: 'x', ...fields }),
  }
}
