/**
 * Stores small named documents: personas, projects, sessions, and every kind that a facade declares. One current
 * version per (kind, id). Every store passes `test/suites/record-store.suite.ts`.
 */
import type { Json } from '../contracts/ids.ts'

export type RecordBody = { [key: string]: Json }
export interface RecordRow {
  readonly id: string
  readonly body: RecordBody
}

/**
 * Calls about one record take effect in order. If a format can write several records at once, concurrent puts and removes
 * share a write; each resolves only when that write is durable.
 *
 * If another process can take over the storage, each change checks ownership right before it writes, and rejects if it was
 * lost or cannot be determined. Only a process suspended exactly between check and write can still write.
 */
export interface RecordStore {
  /** Resolves when the record is durable. Readers see the old or the new record, never a mixture. */
  put(kind: string, id: string, body: RecordBody): Promise<void>
  /** Returns a copy. */
  get(kind: string, id: string): Promise<RecordBody | null>
  /**
   * Returns all records of a kind, ordered by id. An invalid record is quarantined, or skipped if the disk does not allow
   * moving it, and reported; it never fails the list.
   *
   * The row and the body of a record unchanged since the last list are the same objects. Readers may use them as cache keys
   * and must not change them.
   */
  list(kind: string): Promise<readonly RecordRow[]>
  /** Removing a missing record is not an error. */
  remove(kind: string, id: string): Promise<void>
  /** Removes a record that its reader cannot use. File stores keep it in quarantine with the reason. */
  quarantine(kind: string, id: string, reason: string): Promise<void>
  /**
   * Returns false if reads must not change the files of a kind, not even to quarantine: git tracks them, and only a change of
   * a record rewrites them. Default: true.
   */
  readersMayWrite?(kind: string): boolean
  /**
   * Runs work that reads and then writes records of one kind, while no other writer changes that kind, neither in this
   * process nor in another one. Works run in the order of the calls; other writes wait for them, but `list` does not. An
   * error of the work is rethrown; records it has put remain.
   *
   * The work must use the records passed to it. A call of the store itself would wait for the work and deadlock.
   */
  exclusive<T>(kind: string, work: (records: KindRecords) => Promise<T>): Promise<T>
}

/**
 * The records of one kind, as exclusive work uses them: the same promises, without queueing.
 *
 * If people and other programs can change the files, a record that changed after the work last read it is not overwritten or
 * removed: the call rejects with `store_unavailable`, and the other change is kept.
 */
export interface KindRecords {
  put(id: string, body: RecordBody): Promise<void>
  get(id: string): Promise<RecordBody | null>
  list(): Promise<readonly RecordRow[]>
  remove(id: string): Promise<void>
  quarantine(id: string, reason: string): Promise<void>
}
