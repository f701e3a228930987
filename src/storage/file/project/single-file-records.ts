/** Shared parts of the formats that store all records of a kind in one file. */
import { isObject } from '../../../contracts/validation/is-object.ts'
import { checkedValue } from '../records/record-file.ts'
import type { QuarantineNotice } from '../records/quarantine-file.ts'
import { ulidForForeignId } from '../../../ports/foreign-id.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { KindRecords, RecordBody } from '../../../ports/record-store.ts'

export interface SingleFileOptions {
  kind: string
  file: string
  /** Quarantine file for invalid records, as lines with the reason. */
  rejected: string
  onRejected: (notice: QuarantineNotice) => void
  /** Creates the id of a record that a person wrote without one. */
  newId?: () => string
  /** Folders that other users may have created. The file is not read or written if one of them is a link. */
  path_folders: readonly string[]
  /**
   * Runs the work while no other process writes the file. Returns false without running it if one does. The work
   * calls `mayChange` right before it changes anything.
   */
  exclusively: (work: (mayChange: () => void) => Promise<void>) => Promise<boolean>
  /** Returns whether git tracks the file, which then is rewritten only together with a change. */
  tracked: () => boolean
  /** Throws if exclusive work has lost the lock. */
  mayChange: () => void
  pause: (ms: number) => Promise<unknown>
  /** Returns a foreign id as its ULID. */
  stable_ids: boolean
}

/** A change of one record. */
export interface Change {
  id: string
  /** The new text as one line without newline; null to remove the record. */
  text: string | null
  /** Reason for which the previous version is quarantined. */
  reason?: string
}

/** Records of one file, of which several are written at a time. */
export interface SingleFileRecords extends KindRecords {
  /** Throws `record_too_large`. */
  changeTo(id: string, body: RecordBody | null): Change
  /** Writes all changes at once. */
  write(changes: readonly Change[]): Promise<void>
  /** Resolves when no read or write is in progress. */
  idle(): Promise<void>
}

export function changeTo(kind: string, id: string, body: RecordBody | null): Change {
  if (body === null) return { id, text: null }
  const text = JSON.stringify(checkedValue('bare', kind, id, body))
  // Longer lines are rejected when they are read.
  if (Buffer.byteLength(text) <= LIMITS.record_file_bytes_max) return { id, text }
  throw new TurnbellError('record_too_large', {
    detail: `${kind} ${id} would take more than ${LIMITS.record_file_bytes_max} bytes`,
  })
}

/** Returns the last change of each record, in the order of these last changes. */
export function lastChanges(changes: readonly Change[]): Change[] {
  const last = new Map<string, Change>()
  for (const change of changes) {
    const reason = change.reason ?? last.get(change.id)?.reason
    last.delete(change.id)
    last.set(change.id, reason === undefined ? change : { ...change, reason })
  }
  return [...last.values()]
}

/** How a file that other programs may have written is read. */
export interface ReadMode {
  /** Names records without an id; null if they stay unnamed. */
  name: NameRecord | null
  /** Returns a foreign id as its ULID. */
  stable_ids: boolean
}

export const AS_WRITTEN: ReadMode = { name: null, stable_ids: false }

/** Returns the text of a record without an id, with an id as its first member. */
export type NameRecord = (value: RecordBody) => string

/**
 * Creates the naming function; null without `newId`. A record with a time gets the same id in every process, any other record
 * the same id within this process.
 */
export function createNaming(newId: (() => string) | undefined): NameRecord | null {
  if (newId === undefined) return null
  const ids = new Map<string, string>()
  return (value) => {
    const text = JSON.stringify(value)
    const id = ulidForForeignId(text, value) ?? ids.get(text) ?? newId()
    ids.set(text, id)
    return JSON.stringify({ id, ...value })
  }
}

export const lacksId = (value: unknown): value is RecordBody => isObject(value) && value['id'] === undefined
