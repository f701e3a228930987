/** A project's store in its own directory: its records and the other files of its memory. */
import type { RecordStore } from './record-store.ts'
import type { VectorStore } from './vector-store.ts'

/** `file` is relative to the root. */
export interface UnreadableFile {
  file: string
  reason: string
}

export interface ProjectStore {
  /** The project's directory. */
  root: string
  records: RecordStore
  /** Returns the days with an archive of entries, as `yyyy-mm-dd`. */
  archivedDays(): Promise<readonly string[]>
  /** Returns the text of `config.yml`, or why it cannot be read; null if there is none. */
  configText(): Promise<string | { reason: string } | null>
  /** Returns up to `limit` quarantined files, relative to the root. */
  quarantinedFiles(limit: number): Promise<string[]>
  /** Returns invalid files that were left in place, because they are being edited or must not be moved. */
  unreadableFiles(): Promise<UnreadableFile[]>
  /** Returns the store for the vectors of entries or of decisions. */
  vectors(of: 'blackboard' | 'decisions'): VectorStore
  /** Reads the start of a file by its path from the root. Returns a reason if it is not a file of the project. */
  readText(
    path: string,
    bytes_max: number,
  ): Promise<{ text: string; truncated: boolean } | { reason: string }>
}
