/** What the places have in common that keep the records of a kind in one file. */
import { isObject } from './is-object.ts'
import { readableValue } from './record-file.ts'
import type { RejectedRecord } from './rejected-records.ts'
import { ulidOfForeign } from '../../ports/foreign-id.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { HeldRecords, RecordBody } from '../../ports/record-store.ts'

export interface RecordPlaceOptions {
  kind: string
  file: string
  /** Takes what is no record, as lines with the reason. */
  rejected: string
  onRejected: (notice: RejectedRecord) => void
  /** Names what somebody has written down by hand without an id. */
  newId?: () => string
  /** Folders that others may have made. Nothing is looked at or done where one of them is a link. */
  on_the_way: readonly string[]
  /**
   * Does this while no other process writes the file. False where one does, and then it was not done. The work
   * asks `mayChange` at the last moment before it changes anything.
   */
  alone: (work: (mayChange: () => void) => Promise<void>) => Promise<boolean>
  /** Whether git tracks the file: it is rewritten only together with a change. */
  tracked: () => boolean
  /** Throws where exclusive work may not change anything any more. */
  mayChange: () => void
  pause: (ms: number) => Promise<unknown>
  /** Reads a foreign id as its ULID. */
  stable_ids: boolean
}

/** What is to become of one record. */
export interface Change {
  id: string
  /** As one line, without its end; null where the record goes. */
  text: string | null
  /** Why what there was before is kept among the rejected. */
  reason?: string
}

/** Records that are written several at a time. */
export interface PlacedRecords extends HeldRecords {
  /** Throws `record_too_large`. */
  changeTo(id: string, body: RecordBody | null): Change
  /** All of them by one write. */
  write(changes: readonly Change[]): Promise<void>
  /** When nothing is under way any more. */
  over(): Promise<void>
}

export function changeTo(kind: string, id: string, body: RecordBody | null): Change {
  if (body === null) return { id, text: null }
  const text = JSON.stringify(readableValue('bare', kind, id, body))
  // Whoever reads it would not take it for a record.
  if (Buffer.byteLength(text) <= LIMITS.record_file_bytes_max) return { id, text }
  throw new TurnbellError('record_too_large', {
    detail: `${kind} ${id} would take more than ${LIMITS.record_file_bytes_max} bytes`,
  })
}

/** The last word on each record, in the order of their ids' last mention. */
export function lastWords(changes: readonly Change[]): Change[] {
  const last = new Map<string, Change>()
  for (const change of changes) {
    const reason = change.reason ?? last.get(change.id)?.reason
    last.delete(change.id)
    last.set(change.id, reason === undefined ? change : { ...change, reason })
  }
  return [...last.values()]
}

/** How a file that others may have written is read. */
export interface Reading {
  /** Null if nobody names what does not have an id. */
  name: Named | null
  /** A foreign id is read as its ULID. */
  stable_ids: boolean
}

export const AS_WRITTEN: Reading = { name: null, stable_ids: false }

/** Text of a record that was written down without an id, with one in front. */
export type Named = (value: RecordBody) => string

/**
 * A record with a time gets the same id in every process; another one the same for as long as this process reads it. Null
 * if nobody names them.
 */
export function naming(newId: (() => string) | undefined): Named | null {
  if (newId === undefined) return null
  const ids = new Map<string, string>()
  return (value) => {
    const text = JSON.stringify(value)
    const id = ulidOfForeign(text, value) ?? ids.get(text) ?? newId()
    ids.set(text, id)
    return JSON.stringify({ id, ...value })
  }
}

export const isNameless = (value: unknown): value is RecordBody =>
  isObject(value) && value['id'] === undefined
