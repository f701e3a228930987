/**
 * The records of one kind as one JSON array in one file, rewritten as a whole by every change. For kinds that are read
 * as a whole and changed together.
 */
import { createFileCleaner } from './rewrite-file.ts'
import { createSingleFileQueue } from './single-file-queue.ts'
import { checkPlainFolders } from '../records/symlink-guard.ts'
import { changeTo, lastChanges, createNaming, type Change, type NameRecord } from './single-file-records.ts'
import type { SingleFileRecords, SingleFileOptions } from './single-file-records.ts'
import { withWriteErrors } from '../journal/disk-errors.ts'
import type { RejectedLine } from '../records/quarantine-lines.ts'
import { swapFile } from '../records/swap-file.ts'
import {
  linesInOrder,
  parseJsonArray,
  arrayLine,
  jsonArrayText,
  type JsonArrayText,
} from './json-array-text.ts'
import { readSettled, tooLarge, watchFile } from './watched-file.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { RecordBody, RecordRow } from '../../../ports/record-store.ts'

const NOTHING = Buffer.alloc(0)

export function createJsonArrayRecords(options: SingleFileOptions): SingleFileRecords {
  const { kind, file, path_folders, pause, stable_ids } = options
  const name = createNaming(options.newId)
  const watched = watchFile(file, LIMITS.table_bytes_max)
  // A file that git does not track is rewritten with ids by the first list.
  const reading = () => ({ name: options.tracked() ? name : null, stable_ids })
  const checkPath = () => checkPlainFolders(path_folders)
  const cleaner = createFileCleaner(options)
  let current: JsonArrayText | null = null
  /** The table that this store wrote last, so that it need not be parsed. */
  let written: JsonArrayText | null = null
  let listed: { of: JsonArrayText; rows: readonly RecordRow[] } | null = null

  /** Returns the current content; null if there is no file. */
  const readCurrent = (): JsonArrayText | null => {
    checkPath()
    const bytes = watched.read()
    if (bytes === null || bytes === current?.bytes) return bytes === null ? null : current
    current =
      written?.bytes.equals(bytes) === true
        ? { ...written, bytes }
        : parseJsonArray(kind, bytes, current, reading())
    return current
  }

  const settledTable = () => readSettled(watched, readCurrent, (table) => !table.is_clean, pause)

  const rewrite = (changes: readonly Change[], mayChange: () => void): Promise<void> =>
    cleaner.rewrite(mayChange, async (quarantine) => {
      const { content: table, settled } = await settledTable()
      // A rewrite would overwrite a partially written file.
      if (!settled) return false
      const { next, rejects } = apply(table, changes, name, options)
      if (next === null) return true
      quarantine(rejects)
      const appended = () => (watched.read() === (table?.bytes ?? null) ? NOTHING : null)
      if (!(await swapFile({ file, text: next.bytes, checkPath, mayChange, appended }))) return false
      written = next
      cleaner.reportQuarantined(rejects)
      return true
    })

  return createSingleFileQueue({
    changeTo: (id, body) => changeTo(kind, id, body),
    write: (changes) => withWriteErrors(file, () => rewrite(changes, options.mayChange)),
    find: async (id) => (await settledTable()).content?.lines.get(id)?.row ?? null,
    async list(enqueue) {
      const { content: table, settled } = await settledTable()
      if (table !== null && !table.is_clean && settled) {
        const without_id = name !== null && options.tracked() ? [] : table.without_id
        const rejects = [...table.unparsed, ...without_id.map(rejectedWithoutId)]
        await cleaner.clean(table.bytes, rejects, (mayChange) =>
          enqueue(() => withWriteErrors(file, () => rewrite([], mayChange))),
        )
      }
      const now = table?.is_clean === true ? table : readCurrent()
      if (now === null) return []
      if (listed?.of !== now) listed = { of: now, rows: linesInOrder(now).map(({ row }) => row) }
      return listed.rows
    },
  })
}

/** Returns the table with the changes applied; `next` is null if nothing changes. */
function apply(
  table: JsonArrayText | null,
  changes: readonly Change[],
  name: NameRecord | null,
  { kind, file, stable_ids }: SingleFileOptions,
): { next: JsonArrayText | null; rejects: RejectedLine[] } {
  const lines = new Map(table?.lines)
  const rejects: RejectedLine[] = [...(table?.unparsed ?? [])]
  for (const value of table?.without_id ?? []) {
    const line = name === null ? null : arrayLine(kind, name(value), stable_ids)
    if (line !== null) lines.set(line.row.id, line)
    else rejects.push(rejectedWithoutId(value))
  }
  let isSame = table === null || table.is_clean
  for (const { id, text, reason } of lastChanges(changes)) {
    const before = lines.get(id)
    if (text === null && before === undefined) continue
    isSame = false
    if (reason !== undefined && before !== undefined) rejects.push({ line: Buffer.from(before.text), reason })
    if (text === null) lines.delete(id)
    else lines.set(id, arrayLine(kind, text, stable_ids))
  }
  if (isSame) return { next: null, rejects }
  const bytes = Buffer.from(jsonArrayText(linesInOrder({ lines }).map(({ text }) => text)))
  if (bytes.length > LIMITS.table_bytes_max) throw tooLarge(file, LIMITS.table_bytes_max)
  return { next: { bytes, lines, without_id: [], unparsed: [], is_clean: true }, rejects }
}

function rejectedWithoutId(value: RecordBody): RejectedLine {
  return { line: Buffer.from(JSON.stringify(value)), reason: 'the record has no id' }
}
