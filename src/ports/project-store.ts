/** What a project keeps in its own directory: its records, and what of its memory is no record. */
import type { RecordStore } from './record-store.ts'
import type { VectorShelf } from './vector-shelf.ts'

/** `file` is named from the root. */
export interface Unread {
  file: string
  reason: string
}

export interface ProjectStore {
  /** The directory of the project itself. */
  root: string
  records: RecordStore
  /** The days of which there is an archive of entries, as `yyyy-mm-dd`. */
  archivedDays(): Promise<readonly string[]>
  /** The text of its `config.yml` as it is now, or why it cannot be read; null where there is none. */
  configText(): Promise<string | { reason: string } | null>
  /** Files that hold what could not be read, named from the root; at most so many. */
  setAside(most: number): Promise<string[]>
  /** What is no record and is left where it is: somebody is still at it, or it may not be moved. */
  unread(): Promise<Unread[]>
  /** Where the vectors are kept that were made of its entries, or of its decisions. */
  vectors(of: 'blackboard' | 'decisions'): VectorShelf
  /** The beginning of a file, named from the root; or why it cannot be read: it is none, or none of the project. */
  readText(
    path: string,
    bytes_max: number,
  ): Promise<{ text: string; truncated: boolean } | { reason: string }>
}
