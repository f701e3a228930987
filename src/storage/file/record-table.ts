/**
 * The records of one kind as one JSON array in one file, written anew as a whole by every change. For kinds that
 * people and programs read at one go, and that are changed together.
 */
import { createMender } from './mender.ts'
import { createPlaced } from './placed.ts'
import { needPlainFolders } from './plain-folders.ts'
import { changeTo, lastWords, naming, type Change } from './record-place.ts'
import type { PlacedRecords, RecordPlaceOptions } from './record-place.ts'
import { writing } from './refusal.ts'
import { keepRejected, type RejectedLine } from './rejected-lines.ts'
import { swapFile } from './swap-file.ts'
import { linesInOrder, readTable, tableLine, tableText, type TableText } from './table-text.ts'
import { tooLarge, watchFile } from './watched-file.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { RecordBody, RecordRow } from '../../ports/record-store.ts'

const NOTHING = Buffer.alloc(0)

export function createRecordTable(options: RecordPlaceOptions): PlacedRecords {
  const { kind, file, rejected, on_the_way, pause, stable_ids } = options
  const name = naming(options.newId)
  const watched = watchFile(file, LIMITS.table_bytes_max)
  // A file that git does not track is rewritten with the ids by whoever lists it.
  const reading = () => ({ name: options.tracked() ? name : null, stable_ids })
  const needWay = () => needPlainFolders(on_the_way)
  const mender = createMender(options)
  let known: TableText | null = null
  /** What this store wrote last, so that it need not be read. */
  let written: TableText | null = null
  let listed: { of: TableText; rows: readonly RecordRow[] } | null = null

  /** As the file is now; null where there is none. */
  const look = (): TableText | null => {
    needWay()
    const bytes = watched.look()
    if (bytes === null || bytes === known?.bytes) return bytes === null ? null : known
    known =
      written?.bytes.equals(bytes) === true ? { ...written, bytes } : readTable(kind, bytes, known, reading())
    return known
  }

  /** Once nobody is in the middle of writing it, as far as that can be told. */
  const settledLook = async (): Promise<{ table: TableText | null; settled: boolean }> => {
    for (let looks = 1; ; looks += 1) {
      const table = look()
      const age_ms = watched.age_ms()
      if (table === null || table.good || age_ms >= LIMITS.file_settle_ms) return { table, settled: true }
      if (looks === LIMITS.file_settle_looks_max) return { table, settled: false }
      await pause(LIMITS.file_settle_ms - age_ms)
    }
  }

  const rewrite = async (changes: readonly Change[], mayChange: () => void): Promise<void> => {
    const kept = new Set<string>()
    for (let tries = 1; tries <= LIMITS.file_rewrites_max; tries += 1) {
      const { table, settled } = await settledLook()
      // What is half written would be written over.
      if (!settled) continue
      const { next, rejects } = changed(table, changes)
      if (next === null) return
      const fresh = rejects.filter(({ line }) => !kept.has(line.toString('latin1')))
      if (fresh.length > 0) {
        mayChange()
        keepRejected(rejected, fresh)
        for (const { line } of fresh) kept.add(line.toString('latin1'))
      }
      const since = () => (watched.look() === (table?.bytes ?? null) ? NOTHING : null)
      if (!(await swapFile({ file, text: next.bytes, needWay, mayChange, since }))) continue
      written = next
      mender.told(rejects)
      return
    }
    throw new TurnbellError('store_unavailable', {
      detail: `${file} is changed by somebody else all the time, and cannot be written anew`,
      hint: 'See what keeps writing it, then call again.',
    })
  }

  /** The table as it is to be; null where that is as it is. */
  const changed = (table: TableText | null, changes: readonly Change[]) => {
    const lines = new Map(table?.lines)
    const rejects: RejectedLine[] = [...(table?.left_over ?? [])]
    for (const nameless of table?.nameless ?? []) {
      const line = name === null ? null : tableLine(kind, name(nameless), stable_ids)
      if (line !== null) lines.set(line.row.id, line)
      else rejects.push(rejectedNameless(nameless))
    }
    let isSame = table === null || table.good
    for (const { id, text, reason } of lastWords(changes)) {
      const before = lines.get(id)
      if (text === null && before === undefined) continue
      isSame = false
      if (reason !== undefined && before !== undefined)
        rejects.push({ line: Buffer.from(before.text), reason })
      if (text === null) lines.delete(id)
      else lines.set(id, tableLine(kind, text, stable_ids))
    }
    if (isSame) return { next: null, rejects }
    const bytes = Buffer.from(tableText(linesInOrder({ lines }).map(({ text }) => text)))
    if (bytes.length > LIMITS.table_bytes_max) throw tooLarge(file, LIMITS.table_bytes_max)
    return { next: { bytes, lines, nameless: [], left_over: [], good: true }, rejects }
  }

  return createPlaced({
    changeTo: (id, body) => changeTo(kind, id, body),
    write: (changes) => writing(file, () => rewrite(changes, options.mayChange)),
    find: async (id) => (await settledLook()).table?.lines.get(id)?.row ?? null,
    async list(line) {
      const { table, settled } = await settledLook()
      if (table !== null && !table.good && settled) {
        const nameless = name !== null && options.tracked() ? [] : table.nameless
        const troubled = [...table.left_over, ...nameless.map(rejectedNameless)]
        await mender.mend(table.bytes, troubled, (mayChange) =>
          line.next(() => writing(file, () => rewrite([], mayChange))),
        )
      }
      const now = table?.good === true ? table : look()
      if (now === null) return []
      if (listed?.of !== now) listed = { of: now, rows: linesInOrder(now).map(({ row }) => row) }
      return listed.rows
    },
  })
}

function rejectedNameless(value: RecordBody): RejectedLine {
  return { line: Buffer.from(JSON.stringify(value)), reason: 'it does not say its id' }
}
