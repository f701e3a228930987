/** Reads the file of one record, with a stamp by which a later change is recognised. */
import fs from 'node:fs'
import path from 'node:path'
import { parseRecord, type ParsedRecord, type RecordForm } from './record-file.ts'
import { codeOf } from '../journal/disk.ts'
import { toReadError } from '../journal/disk-errors.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { checkOpened } from '../../../system/files/inside.ts'
import { READ_PLAIN } from '../../../system/files/safe-read.ts'

export const RECORD_ENDING = '.json'

export interface RecordReading {
  /** While the file has this stamp, its content is unchanged. */
  stamp: string
  /** False while a further change could leave the stamp unchanged. */
  stamp_is_final: boolean
  record: ParsedRecord
}

export interface ReadOptions {
  kind: string
  form: RecordForm
  /**
   * True if people and other programs also write here: an invalid file may be one that is being written, and is
   * read again before it is reported.
   */
  edited: boolean
  /** Returns a foreign id as its ULID. */
  stable_ids?: boolean
  pause: (ms: number) => Promise<unknown>
}

/** Resolution of file times: two changes within this time can have the same time. */
export const CLOCK_STEP_MS = 50

/** Returns null if there is no file, or if it is still being written. Throws `store_unavailable`. */
export async function readRecordFile(file: string, options: ReadOptions): Promise<RecordReading | null> {
  for (let attempts = 1; ; attempts += 1) {
    const stat = statOf(file)
    const text = stat === null ? null : await textOf(file, stat, options.edited)
    if (stat === null || text === null) return null
    // A program that writes in place truncates the file first, and may take any time until it writes.
    if (options.edited && text === '') return null
    const name = path.basename(file, RECORD_ENDING)
    const record =
      typeof text === 'string'
        ? parseRecord(options.form, options.kind, name, text, options.stable_ids)
        : text
    // A time in the future means that the clock was set back.
    const age_ms = Math.abs(Date.now() - Math.max(stat.mtimeMs, stat.ctimeMs))
    const settled = !options.edited || age_ms >= LIMITS.file_settle_ms
    if (settled || ('id' in record && record.merged !== true)) {
      const stamp_is_final = age_ms > CLOCK_STEP_MS
      return { stamp: stampOf(stat), stamp_is_final, record }
    }
    if (attempts === LIMITS.file_settle_looks_max) return null
    await options.pause(LIMITS.file_settle_ms - age_ms)
  }
}

/** Returns null if there is no such file. */
export function stampAt(file: string): string | null {
  const stat = statOf(file)
  return stat === null ? null : stampOf(stat)
}

export function stampOf({ ino, size, mtimeMs, ctimeMs }: fs.Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

function statOf(file: string): fs.Stats | null {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false }) ?? null
  } catch (error) {
    throw toReadError(file, error)
  }
}

/** Returns the text, or why the file is invalid; null if it disappeared or is no longer a file. */
async function textOf(
  file: string,
  stat: fs.Stats,
  edited: boolean,
): Promise<string | { reason: string; stays?: true } | null> {
  if (!stat.isFile()) return { reason: 'the record is not a regular file' }
  if (stat.size > LIMITS.record_file_bytes_max)
    return { reason: `the file is larger than ${LIMITS.record_file_bytes_max} bytes` }
  try {
    const handle = await fs.promises.open(file, READ_PLAIN)
    try {
      // Files in a home are private and may be hard links of a backup, so they are not checked.
      const checked = edited ? checkOpened(handle.fd, file) : null
      if (checked === null || 'stat' in checked) return await handle.readFile('utf8')
      // A shared file stays in place, because moving it would not separate it.
      return checked.why === 'shared' ? { reason: checked.reason, stays: true } : null
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'EAGAIN', 'EISDIR', 'ENXIO'].includes(codeOf(error) ?? '')) return null
    if (codeOf(error) === 'EACCES') return { reason: 'permission to read it is denied' }
    throw toReadError(file, error)
  }
}
