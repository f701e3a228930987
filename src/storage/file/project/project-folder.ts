/**
 * `<root>/.turnbell`: the folder of a project that its agents share. Plain files owned by the user, tracked by
 * git with the project, readable without turnbell.
 */
import { lstatSync } from 'node:fs'
import fs from 'node:fs/promises'
import path from 'node:path'
import { homeIsNoProject } from '../../../ports/path-inspector.ts'
import { fileIdentity } from '../../../system/files/file-identity.ts'
import { holdsSecrets } from '../../../system/files/path-inspector.ts'
import { codeOf } from '../journal/disk.ts'
import { FIRST_FILES } from './project-layout.ts'
import { syncDirectory } from '../journal/sync-directory.ts'

const NAME = '.turnbell'

export function projectFolder(root: string): string {
  return path.join(root, NAME)
}

/** Creates the folder if it is missing, but never the root, which is the project itself. */
export function ensureProjectFolder(root: string): Promise<void> {
  return projectFolderMaker(root)()
}

/** Returns a function that does the same, cheap enough to call before every write. */
export function projectFolderMaker(root: string): () => Promise<void> {
  const folder = projectFolder(root)
  /** Identity of the folder that was last completed. A checkout may replace the folder. */
  let complete: string | null = null
  return async () => {
    if (complete !== null && fileIdentity(folder) === complete) return
    // Checked again, because a home may have been created after the project was opened.
    if (holdsSecrets(folder)) throw homeIsNoProject(root)
    if (await created(fs.mkdir(folder))) await syncDirectory(root)
    for (const [name, text] of Object.entries(FIRST_FILES)) await makeFile(folder, name, text)
    complete = fileIdentity(folder)
  }
}

async function makeFile(folder: string, name: string, text: string): Promise<void> {
  const file = path.join(folder, name)
  const within = path.dirname(file)
  if (await created(fs.mkdir(within))) await syncDirectory(path.dirname(within))
  // A repository may contain a link here; the later access to the file reports it.
  if (!lstatSync(within).isDirectory()) return
  if (await created(fs.writeFile(file, text, { flag: 'wx', flush: true }))) await syncDirectory(within)
}

/** Returns false if the path already existed. */
async function created(creation: Promise<unknown>): Promise<boolean> {
  try {
    await creation
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}
