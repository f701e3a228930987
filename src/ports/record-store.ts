/**
 * Small named documents: personas, projects, sessions. One current version per (kind, id).
 * Every store runs `test/suites/record-store.suite.ts`.
 */
import type { Json } from '../contracts/ids.ts'

export type RecordBody = { [key: string]: Json }

/** What is done to one record takes effect in the order of the calls. */
export interface RecordStore {
  /** Resolves only once the record survives a crash; a reader sees the old one or the new one, never a mixture. */
  put(kind: string, id: string, body: RecordBody): Promise<void>
  get(kind: string, id: string): Promise<RecordBody | null>
  /** All records of a kind, ordered by id. One that does not parse is set aside and reported, never fatal. */
  list(kind: string): Promise<{ id: string; body: RecordBody }[]>
  /** Removing what is not there is no error. */
  remove(kind: string, id: string): Promise<void>
}
