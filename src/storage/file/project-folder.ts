/**
 * `<root>/.turnbell`: the part of a project that its agents share. Plain files of the user's own, tracked by
 * git together with the project, readable without turnbell.
 */
import fs from 'node:fs/promises'
import path from 'node:path'
import { codeOf } from './disk.ts'

const NAME = '.turnbell'

/** What can be made again, and what only a process that runs has any use for. */
const IGNORED = `embeddings/*.index
archive/
.lock/
*.new
`

export function projectFolder(root: string): string {
  return path.join(root, NAME)
}

/** Makes it where it is missing; never the root, which is the project itself. */
export async function ensureProjectFolder(root: string): Promise<void> {
  const folder = projectFolder(root)
  await unlessThere(fs.mkdir(folder))
  await unlessThere(fs.writeFile(path.join(folder, '.gitignore'), IGNORED, { flag: 'wx' }))
}

async function unlessThere(making: Promise<unknown>): Promise<void> {
  try {
    await making
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}
