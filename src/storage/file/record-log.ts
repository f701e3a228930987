/**
 * The records of one kind as lines of one file, which only ever grows: a JSON object a line, the last line of an
 * id counts. Only what goes, and what is no record, makes it be written anew.
 */
import fs from 'node:fs'
import { appendLines } from './append-lines.ts'
import {
  endsInLine,
  halfLine,
  isOpen,
  readLog,
  sortedRows,
  startsWith,
  type LogLine,
  type LogText,
} from './log-text.ts'
import { createMender } from './mender.ts'
import { needPlainFolders } from './plain-folders.ts'
import { changeTo, lastWords, naming, type Change } from './record-place.ts'
import type { PlacedRecords, RecordPlaceOptions } from './record-place.ts'
import { writing } from './refusal.ts'
import { keepRejected, type RejectedLine } from './rejected-lines.ts'
import { swapFile } from './swap-file.ts'
import { createPlaced } from './placed.ts'
import { watchFile } from './watched-file.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Unread } from '../../ports/project-store.ts'
import { READ_PLAIN } from '../../system/plain-file.ts'

/** What becomes of a line: it stays, goes, goes with a reason, or says it otherwise. */
type Fate = 'stays' | 'goes' | { reason: string } | { text: string }

const NEWLINE = Buffer.from('\n')

export interface RecordLog extends PlacedRecords {
  /** Its last line, where that is none yet: somebody may be in the middle of it. */
  unread(): Unread[]
}

export function createRecordLog(options: RecordPlaceOptions): RecordLog {
  const { kind, file, rejected, on_the_way, pause, stable_ids } = options
  const name = naming(options.newId)
  const watched = watchFile(file)
  // A file that git does not track is rewritten with the ids by whoever lists it.
  const reading = () => ({ name: options.tracked() ? name : null, stable_ids })
  const needWay = () => needPlainFolders(on_the_way)
  const mender = createMender(options)
  let known: LogText | null = null

  /** As the file is now; null where there is none. */
  const look = (): LogText | null => {
    needWay()
    const bytes = watched.look()
    if (bytes === null) known = null
    else if (bytes !== known?.bytes) known = readLog(kind, bytes, known, reading())
    return known
  }

  /** Once nobody is in the middle of its last line, as far as that can be told. */
  const settledLook = async (): Promise<{ text: LogText | null; settled: boolean }> => {
    for (let looks = 1; ; looks += 1) {
      const text = look()
      const last = text?.troubled.at(-1)
      const half = text !== null && last !== undefined && isOpen(text, last)
      const age_ms = watched.age_ms()
      if (!half || age_ms >= LIMITS.file_settle_ms) return { text, settled: true }
      if (looks === LIMITS.file_settle_looks_max) return { text, settled: false }
      await pause(LIMITS.file_settle_ms - age_ms)
    }
  }

  const append = (lines: Buffer, mayChange: () => void) =>
    appendLines(file, lines, { needWay, mayChange, pause })

  /** Writes the file anew, with more lines at its end. */
  const rewrite = async (fateOf: (line: LogLine) => Fate, more: Buffer, mayChange: () => void) => {
    const kept = new Set<string>()
    for (let tries = 1; tries <= LIMITS.file_rewrites_max; tries += 1) {
      const { text, settled } = await settledLook()
      if (text === null) return append(more, mayChange)
      // Half a line would be cut off from what is still to come of it.
      if (!settled) continue
      const half = halfLine(text)
      // Where nothing of ours comes behind it, it waits for its rest.
      const fates = (line: LogLine) => (line === half ? 'stays' : fateOf(line))
      const { pieces, rejects } = sorted(text, fates, more.length > 0)
      const fresh = rejects.filter(({ line }) => !kept.has(line.toString('latin1')))
      if (fresh.length > 0) {
        mayChange()
        keepRejected(rejected, fresh)
        for (const { line } of fresh) kept.add(line.toString('latin1'))
      }
      let seen = text.bytes
      const since = () => {
        const now = watched.look()
        if (now === null || !startsWith(now, seen)) return null
        const tail = now.subarray(seen.length)
        const inMiddle = more.length > 0 && !endsInLine(seen)
        // Half a line would be cut off from what is still to come of it, or from what there is.
        if (tail.length > 0 && (inMiddle || !endsInLine(tail))) return null
        seen = now
        return tail
      }
      const before = fs.openSync(file, READ_PLAIN)
      try {
        const whole = Buffer.concat([...pieces, more])
        if (!(await swapFile({ file, text: whole, needWay, mayChange, since }))) continue
        // Who had opened the file before it was replaced may have written behind it since.
        const late = await settledBehind(before, seen.length, pause)
        if (late.length > 0) await append(endsInLine(late) ? late : Buffer.concat([late, NEWLINE]), mayChange)
        mender.told(rejects)
        return
      } finally {
        fs.closeSync(before)
      }
    }
    throw new TurnbellError('store_unavailable', {
      detail: `${file} is changed by somebody else all the time, and cannot be written anew`,
      hint: 'See what keeps writing it, then call again.',
    })
  }

  const write = async (changes: readonly Change[]): Promise<void> => {
    const last = lastWords(changes)
    const more = Buffer.from(last.map(({ text }) => (text === null ? '' : `${text}\n`)).join(''))
    const going = new Map<string, Fate>()
    for (const { id, text, reason } of last) {
      if (reason !== undefined) going.set(id, { reason })
      else if (text === null) going.set(id, 'goes')
    }
    const mending = options.tracked()
    const text = going.size === 0 && !mending ? null : look()
    const troubled = mending && text !== null && mendable(text).length > 0
    if (!troubled && ![...going.keys()].some((id) => text?.rows.has(id))) {
      if (more.length > 0) await append(more, options.mayChange)
      return
    }
    // All that was ever said of it: an earlier line would count again.
    const fateOf = (line: LogLine): Fate =>
      (line.row === null ? undefined : going.get(line.row.id)) ?? (troubled ? mended(line) : 'stays')
    await rewrite(fateOf, more, options.mayChange)
  }

  const mended = ({ bad, nameless }: LogLine): Fate => {
    if (bad !== null) return { reason: bad }
    if (nameless === null) return 'stays'
    return name === null ? { reason: 'it does not say its id' } : { text: name(nameless) }
  }

  const placed = createPlaced({
    changeTo: (id, body) => changeTo(kind, id, body),
    write: (changes) => writing(file, () => write(changes)),
    find: (id) => look()?.rows.get(id) ?? null,
    async list(line) {
      const first = look()
      // Half a line waits, and nobody for it.
      if (first === null || mendable(first).length === 0) return first === null ? [] : sortedRows(first)
      const { text, settled } = await settledLook()
      if (text === null) return []
      // The other lines are read as they are to be.
      const bad = mendable(text).filter((one) => one.bad !== null || name === null || !options.tracked())
      if (bad.length > 0 && settled) {
        const troubled = bad.map((one) => ({
          reason: one.bad ?? 'it does not say its id',
          line: text.bytes.subarray(one.start, one.end),
        }))
        await mender.mend(text.bytes, troubled, (mayChange) =>
          line.next(() => writing(file, () => rewrite(mended, Buffer.alloc(0), mayChange))),
        )
      }
      const now = bad.length > 0 ? look() : text
      return now === null ? [] : sortedRows(now)
    },
  })
  return {
    ...placed,
    unread() {
      const text = look()
      if (text === null) return []
      const bad = mendable(text).flatMap((line) => line.bad ?? [])
      const more = bad.length > 1 ? `, and ${bad.length - 1} more` : ''
      return [
        ...bad.slice(0, 1).map((reason) => ({ file, reason: `a line cannot be read: ${reason}${more}` })),
        ...(halfLine(text) === null ? [] : [{ file, reason: UNENDED }]),
      ]
    },
  }
}

const UNENDED = 'its last line has no end, and waits for it'

function mendable(text: LogText): LogLine[] {
  const half = halfLine(text)
  return text.troubled.filter((line) => line !== half)
}

/** The last line is ended where more is to come behind it. */
function sorted({ bytes, lines }: LogText, fateOf: (line: LogLine) => Fate, ended: boolean) {
  const pieces: Buffer[] = []
  const rejects: RejectedLine[] = []
  for (const line of lines) {
    const raw = bytes.subarray(line.start, line.end)
    const fate = fateOf(line)
    if (fate === 'stays') pieces.push(endsInLine(raw) || !ended ? raw : Buffer.concat([raw, NEWLINE]))
    else if (fate === 'goes') continue
    else if ('text' in fate) pieces.push(Buffer.from(`${fate.text}\n`))
    else rejects.push({ reason: fate.reason, line: withoutEnd(raw) })
  }
  return { pieces, rejects }
}

function withoutEnd(raw: Buffer): Buffer {
  return raw.subarray(0, endsInLine(raw) ? raw.length - 1 : raw.length)
}

/** What stands in an opened file from a place on, once its last line has an end, or nobody gives it one. */
async function settledBehind(fd: number, from: number, pause: RecordPlaceOptions['pause']): Promise<Buffer> {
  for (let looks = 1; ; looks += 1) {
    const late = behind(fd, from)
    if (late.length === 0 || endsInLine(late) || looks === LIMITS.file_settle_looks_max) return late
    await pause(LIMITS.file_settle_ms)
  }
}

/** What stands in an opened file from a place on. */
function behind(fd: number, from: number): Buffer {
  const size = fs.fstatSync(fd).size
  const bytes = Buffer.alloc(Math.max(0, size - from))
  return bytes.subarray(0, bytes.length === 0 ? 0 : fs.readSync(fd, bytes, 0, bytes.length, from))
}
