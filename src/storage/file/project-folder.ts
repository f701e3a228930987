/**
 * `<root>/.turnbell`: the part of a project that its agents share. Plain files of the user's own, tracked by
 * git together with the project, readable without turnbell.
 */
import { lstatSync } from 'node:fs'
import fs from 'node:fs/promises'
import path from 'node:path'
import { homeRefused } from '../../ports/places.ts'
import { markOf } from '../../system/file-mark.ts'
import { holdsSecrets } from '../../system/places.ts'
import { codeOf } from './disk.ts'
import { FIRST_FILES } from './project-layout.ts'
import { syncDirectory } from './sync-directory.ts'

const NAME = '.turnbell'

export function projectFolder(root: string): string {
  return path.join(root, NAME)
}

/** Makes it where it is missing; never the root, which is the project itself. */
export function ensureProjectFolder(root: string): Promise<void> {
  return projectFolderMaker(root)()
}

/** The same for somebody who asks before every write. */
export function projectFolderMaker(root: string): () => Promise<void> {
  const folder = projectFolder(root)
  /** Tells the folder that was looked through; another one may come with the next checkout. */
  let complete: string | null = null
  return async () => {
    if (complete !== null && markOf(folder) === complete) return
    // The hub asks before it opens a project; a home may have come since.
    if (holdsSecrets(folder)) throw homeRefused(root)
    if (await unlessThere(fs.mkdir(folder))) await syncDirectory(root)
    for (const [name, text] of Object.entries(FIRST_FILES)) await makeFile(folder, name, text)
    complete = markOf(folder)
  }
}

async function makeFile(folder: string, name: string, text: string): Promise<void> {
  const file = path.join(folder, name)
  const within = path.dirname(file)
  if (await unlessThere(fs.mkdir(within))) await syncDirectory(path.dirname(within))
  // A repository may bring a link along; whoever needs the file itself is told so.
  if (!lstatSync(within).isDirectory()) return
  if (await unlessThere(fs.writeFile(file, text, { flag: 'wx', flush: true }))) await syncDirectory(within)
}

/** False where it was there. */
async function unlessThere(making: Promise<unknown>): Promise<boolean> {
  try {
    await making
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}
