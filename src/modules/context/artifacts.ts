/** Reads artifacts: stored texts, or files of the project. */
import { Artifact } from '../../contracts/memory/context.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { KeptRecord } from '../../contracts/memory/records.ts'
import type { ProjectStore } from '../../ports/project-store.ts'

export interface ArtifactText {
  id: string
  name: string
  path: string | null
  text: string
  /** The file is longer than `text`. */
  truncated: boolean
}

/** Throws `file_unreadable` for a missing file and for a file outside the project. */
export async function readArtifact(
  record: KeptRecord,
  project: ProjectStore | null,
  max_bytes: number,
): Promise<ArtifactText> {
  const { id, name, path, text = '' } = Artifact.parse(record)
  const known = { id, name }
  if (path === undefined) return { ...known, path: null, text, truncated: false }
  if (project === null) throw unreadable(path, 'the artifact belongs to no project')
  const read = await project.readText(path, max_bytes)
  if ('reason' in read) throw unreadable(path, read.reason)
  return { ...known, path, ...read }
}

function unreadable(path: string, why: string): TurnbellError {
  return new TurnbellError('file_unreadable', { detail: `${path} cannot be read: ${why}.` })
}
