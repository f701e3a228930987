/** Lines of a file of our own, each of them on the disk when its append resolves. Half a line was never written. */
import path from 'node:path'
import { writeAside, writeFully, type Disk } from './disk.ts'

export interface SyncedLines {
  isThere(): boolean
  /** Answers how long the file is then, in bytes. */
  append(line: string): Promise<number>
  /** Nothing but these, or no file at all where there are none. A reader finds what was there before, or these. */
  replace(lines: readonly string[]): void
  /** Gives the file another name, from which what had that goes; the next append begins a new one. */
  moveTo(other: string): void
}

/** `found`: the lines that came to their end. */
export function openSyncedLines(disk: Disk, file: string): { found: readonly string[]; lines: SyncedLines } {
  // What somebody died over who wrote it anew.
  disk.remove(`${file}.new`)
  const text = disk.readFile(file)
  const end = text === null ? 0 : endOfLines(text)
  let is_there = text !== null
  /** Where a line begins that somebody died in the middle of, or that did not fit on the disk. */
  let torn_at = text !== null && text.length > end ? end : null
  let name_synced = true

  /** Said before the name is synced: where that fails, the next append is still to another file, or to none. */
  const isAnother = (now_there: boolean) => {
    is_there = now_there
    torn_at = null
    name_synced = false
  }
  const syncName = () => {
    disk.syncDirectory(path.dirname(file))
    name_synced = true
  }

  const lines: SyncedLines = {
    isThere: () => is_there,
    async append(line) {
      const bytes = Buffer.from(`${line}\n`)
      const fd = disk.open(file, 'write')
      is_there = true
      let end
      try {
        const size = disk.size(fd)
        const start = Math.min(size, torn_at ?? size)
        torn_at = start
        if (size > start) disk.truncate(fd, start)
        writeFully(disk, fd, bytes, start)
        end = start + bytes.length
        await new Promise<void>((resolve, reject) => {
          disk.sync(fd, (error) => (error === null ? resolve() : reject(error)))
        })
        if (start === 0 || !name_synced) syncName()
        torn_at = null
      } finally {
        disk.close(fd)
      }
      return end
    },
    replace(wanted) {
      if (wanted.length === 0) disk.remove(file)
      else {
        const bytes = Buffer.from(wanted.map((line) => `${line}\n`).join(''))
        disk.rename(writeAside(disk, file, [bytes]), file)
      }
      isAnother(wanted.length > 0)
      syncName()
    },
    moveTo(other) {
      disk.rename(file, other)
      isAnother(false)
      syncName()
    },
  }
  return { found: text === null ? [] : text.subarray(0, end).toString().split('\n').slice(0, -1), lines }
}

/** A power cut may have left the end of the last line without its beginning, which then reads as zeros. */
function endOfLines(text: Buffer): number {
  const end = text.lastIndexOf(0x0a) + 1
  const last = end < 2 ? 0 : text.lastIndexOf(0x0a, end - 2) + 1
  return text.subarray(last, end).includes(0) ? last : end
}
