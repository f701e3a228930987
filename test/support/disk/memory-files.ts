/** Reads a project's shared memory like `jq`: throws unless every line and every file is JSON. */
import fs from 'node:fs'
import path from 'node:path'
import { openProjectRecords } from '../../../src/storage/file/project/project-records.ts'
import { rejectedIn } from './rejected-lines.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

export type Row = Record<string, unknown> & { id: string }

export interface MemoryFiles {
  inside(...names: string[]): string
  text(...names: string[]): string
  entries(): Row[]
  /** Returns the decision files, sorted by name. */
  decisions(): Row[]
  index(): Row[]
  /** Returns the index as rebuilt from the decisions. */
  rebuiltIndex(): Promise<Row[]>
  entities(): Row[]
  relations(): Row[]
  /** Returns the archived entries by file name. */
  archived(): Record<string, Row[]>
  /** Returns the quarantined lines of this file, with their reasons. */
  rejected(name: string): { reason: string; line: string }[]
  /** Returns all relative paths in the folder. */
  names(): string[]
}

export function memoryFiles(root: string): MemoryFiles {
  const inside = (...names: string[]) => path.join(root, '.turnbell', ...names)
  const text = (...names: string[]) => fs.readFileSync(inside(...names), 'utf8')
  const lines = (...names: string[]) =>
    text(...names)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Row)
  const table = (...names: string[]) => JSON.parse(text(...names)) as Row[]
  const namesIn = (folder: string) => (fs.existsSync(inside(folder)) ? fs.readdirSync(inside(folder)) : [])
  return {
    ...{ inside, text },
    entries: () => lines('blackboard.jsonl'),
    decisions: () =>
      namesIn('decisions')
        .filter((name) => name.endsWith('.json') && name !== 'index.json')
        .sort()
        .map((name) => JSON.parse(text('decisions', name)) as Row),
    index: () => table('decisions/index.json'),
    async rebuiltIndex() {
      const copy = temporaryDirectory()
      fs.cpSync(inside(), path.join(copy, '.turnbell'), { recursive: true })
      fs.rmSync(path.join(copy, '.turnbell/decisions/index.json'))
      await openProjectRecords({ root: copy }).list('decision')
      return memoryFiles(copy).index()
    },
    entities: () => table('graph/entities.json'),
    relations: () => table('graph/relations.json'),
    archived: () => Object.fromEntries(namesIn('archive').map((name) => [name, lines('archive', name)])),
    rejected: (name) => rejectedIn(inside('rejected', name)).map(({ reason, line }) => ({ reason, line })),
    names: () =>
      fs
        .readdirSync(inside(), { recursive: true, withFileTypes: true })
        .filter((one) => !one.isDirectory())
        .map((one) => path.relative(inside(), path.join(one.parentPath, one.name)))
        .sort(),
  }
}
