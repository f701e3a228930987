/** What was made along the way, read back: a text that was kept, or a file of the project. */
import { Artifact } from '../../contracts/context.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { KeptRecord } from '../../contracts/records.ts'
import type { ProjectStore } from '../../ports/project-store.ts'

export interface ArtifactText {
  id: string
  name: string
  path: string | null
  text: string
  /** The file goes on behind it. */
  truncated: boolean
}

/** Throws `file_unreadable` for a file that is not there, or not one of the project's. */
export async function readArtifact(
  record: KeptRecord,
  project: ProjectStore | null,
  max_bytes: number,
): Promise<ArtifactText> {
  const { id, name, path, text = '' } = Artifact.parse(record)
  const known = { id, name }
  if (path === undefined) return { ...known, path: null, text, truncated: false }
  if (project === null) throw unreadable(path, 'what belongs to no project has no files')
  const read = await project.readText(path, max_bytes)
  if ('reason' in read) throw unreadable(path, read.reason)
  return { ...known, path, ...read }
}

function unreadable(path: string, why: string): TurnbellError {
  return new TurnbellError('file_unreadable', { detail: `${path} cannot be read: ${why}.` })
}
