/** A look at the file of one record: what it says, and by what to tell whether it has changed since. */
import fs from 'node:fs'
import path from 'node:path'
import { readRecord, type ReadRecord, type RecordForm } from './record-file.ts'
import { codeOf } from './disk.ts'
import { unreadable } from './refusal.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { READ_PLAIN } from '../../system/plain-file.ts'

export const RECORD_ENDING = '.json'

export interface RecordLook {
  /** As long as the file has this one, it says the same. */
  stamp: string
  /** False while a change might still come that leaves the stamp as it is. */
  stamp_holds: boolean
  record: ReadRecord
}

export interface LookOptions {
  kind: string
  form: RecordForm
  /**
   * People and other programs write here as well: a file that cannot be read may be one that is being
   * written, and is looked at again before that is said of it.
   */
  edited: boolean
  /** Reads a foreign id as its ULID. */
  stable_ids?: boolean
  pause: (ms: number) => Promise<unknown>
}

/** The steps of a file system's clock: a second change within one leaves the time of the first. */
export const CLOCK_STEP_MS = 50

/** Null where there is nothing, or something that is still being written. Throws `store_unavailable`. */
export async function lookAt(file: string, options: LookOptions): Promise<RecordLook | null> {
  for (let looks = 1; ; looks += 1) {
    const stat = statOf(file)
    const text = stat === null ? null : await textOf(file, stat)
    if (stat === null || text === null) return null
    // Who writes in place begins by emptying the file, and takes as long as it likes until it writes.
    if (options.edited && text === '') return null
    const name = path.basename(file, RECORD_ENDING)
    const record =
      typeof text === 'string' ? readRecord(options.form, options.kind, name, text, options.stable_ids) : text
    // A time to come is that of a clock set back, and as far from now as one that has passed.
    const age_ms = Math.abs(Date.now() - Math.max(stat.mtimeMs, stat.ctimeMs))
    const settled = !options.edited || age_ms >= LIMITS.file_settle_ms
    if (settled || ('id' in record && record.merged !== true)) {
      const stamp_holds = age_ms > CLOCK_STEP_MS
      return { stamp: stampOf(stat), stamp_holds, record }
    }
    if (looks === LIMITS.file_settle_looks_max) return null
    await options.pause(LIMITS.file_settle_ms - age_ms)
  }
}

/** Null where there is no such file. */
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
    throw unreadable(file, error)
  }
}

/** The text, why it cannot be one, or null where the file has gone, or become another thing. */
async function textOf(file: string, stat: fs.Stats): Promise<string | { reason: string } | null> {
  if (!stat.isFile()) return { reason: 'it is no plain file' }
  if (stat.size > LIMITS.record_file_bytes_max)
    return { reason: `it is larger than ${LIMITS.record_file_bytes_max} bytes` }
  try {
    return await fs.promises.readFile(file, { encoding: 'utf8', flag: READ_PLAIN })
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'EAGAIN', 'EISDIR', 'ENXIO'].includes(codeOf(error) ?? '')) return null
    if (codeOf(error) === 'EACCES') return { reason: 'it may not be read' }
    throw unreadable(file, error)
  }
}
