/** Small files with the last numbers of a persona's sessions, one file for each session. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { writeFileAtomic } from './atomic-write.ts'
import { readPlainFile } from './safe-read.ts'
import type { SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { parseJsonAs } from '../../contracts/validation/json.ts'

const Numbers = z.object({
  session_id: z.string(),
  next_seq: z.number().int().min(1),
  turn_seq: z.number().int().min(0),
})
type Numbers = Omit<z.infer<typeof Numbers>, 'session_id'>

export interface SessionNumberFiles {
  /** Returns null if there is no valid file. */
  read(session_id: SessionId): Numbers | null
  /** Throws if the disk refuses it. */
  write(session_id: SessionId, numbers: Numbers): void
  /** Removes the files of sessions that were not used for a long time, and the oldest above the maximum. Never throws. */
  removeOld(now_ms: number): void
}

const FILE_BYTES_MAX = 4_096

export function sessionNumberFiles(directory: string): SessionNumberFiles {
  const fileOf = (session_id: SessionId) =>
    path.join(directory, `${createHash('sha256').update(session_id).digest('hex').slice(0, 32)}.json`)

  return {
    read(session_id) {
      const content = readPlainFile(fileOf(session_id), FILE_BYTES_MAX)
      const stored = Buffer.isBuffer(content) ? parseJsonAs(Numbers, content.toString()) : null
      if (stored?.session_id !== session_id) return null
      return { next_seq: stored.next_seq, turn_seq: stored.turn_seq }
    },
    write(session_id, numbers) {
      fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
      writeFileAtomic(fileOf(session_id), JSON.stringify({ session_id, ...numbers }))
    },
    removeOld(now_ms) {
      const files = filesIn(directory).toSorted((a, b) => b.mtime_ms - a.mtime_ms)
      for (const [index, { file, mtime_ms }] of files.entries()) {
        if (index < LIMITS.activity_numbers_max && now_ms - mtime_ms < LIMITS.activity_numbers_age_ms)
          continue
        remove(file)
      }
    },
  }
}

function remove(file: string): void {
  try {
    fs.rmSync(file, { force: true })
  } catch {
    // Another start tries again.
  }
}

function filesIn(directory: string): { file: string; mtime_ms: number }[] {
  try {
    return fs.readdirSync(directory).flatMap((name) => {
      const file = path.join(directory, name)
      const stat = fs.lstatSync(file, { throwIfNoEntry: false })
      return stat?.isFile() === true ? [{ file, mtime_ms: stat.mtimeMs }] : []
    })
  } catch {
    // Nothing was stored yet.
    return []
  }
}
