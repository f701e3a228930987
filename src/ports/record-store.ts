/**
 * Small named documents: personas, projects, sessions, and every kind that a facade declares. One current
 * version per (kind, id). Every store runs `test/suites/record-store.suite.ts`.
 */
import type { Json } from '../contracts/ids.ts'

export type RecordBody = { [key: string]: Json }
export interface RecordRow {
  readonly id: string
  readonly body: RecordBody
}

/**
 * What is done to one record takes effect in the order of the calls. Where a place can take several records in
 * one write, puts and removes that are asked for without waiting for each other share it; each of them resolves
 * only when that write survives a crash.
 *
 * Where another process can take the place, each looks right before it changes anything, and rejects where that has
 * happened or nobody can tell. Only one that stands still exactly between that look and the change still makes it.
 */
export interface RecordStore {
  /** Resolves only once the record survives a crash; a reader sees the old one or the new one, never a mixture. */
  put(kind: string, id: string, body: RecordBody): Promise<void>
  /** A copy of the caller's own. */
  get(kind: string, id: string): Promise<RecordBody | null>
  /**
   * All records of a kind, ordered by id. One that does not parse is set aside, or passed over where the disk does not let
   * it be moved, and reported, never fatal.
   *
   * The row of a record that has not changed since the last list is the very same object, and so is its body:
   * readers may hang on it what they make of it, and change nothing in it, since all of them share it.
   */
  list(kind: string): Promise<readonly RecordRow[]>
  /** Removing what is not there is no error. */
  remove(kind: string, id: string): Promise<void>
  /** Takes a record that its reader cannot use out of the way; where there are files, it is kept with the reason. */
  setAside(kind: string, id: string, reason: string): Promise<void>
  /**
   * False where a reader must leave the files of a kind as they are, also what it cannot use: git tracks them, and only a
   * change rewrites them. True if it is absent.
   */
  readersMayWrite?(kind: string): boolean
  /**
   * Work that reads and then writes records of one kind, while nobody else writes that kind: neither in this
   * process nor in another that shares the store. Such works run in the order of the calls, and writes from
   * outside wait until they are over; reads by `list` do not. What the work throws is thrown, and what it had
   * put stays put.
   *
   * The work uses the records it is handed. The store itself would wait for the work, and so for ever.
   */
  exclusive<T>(kind: string, work: (records: HeldRecords) => Promise<T>): Promise<T>
}

/**
 * The records of one kind in the hands of exclusive work: the same promises, without waiting for a turn.
 *
 * Where people and other programs write the place without asking anybody, a record that has changed since the work last read
 * it is not written over, nor removed: that rejects with `store_unavailable`, and what they wrote stands.
 */
export interface HeldRecords {
  put(id: string, body: RecordBody): Promise<void>
  get(id: string): Promise<RecordBody | null>
  list(): Promise<readonly RecordRow[]>
  remove(id: string): Promise<void>
  setAside(id: string, reason: string): Promise<void>
}
