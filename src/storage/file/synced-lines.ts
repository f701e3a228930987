/** Lines of a file of our own, each of them on the disk when its append resolves. Half a line was never written. */
import path from 'node:path'
import { replaceFile, writeFully, type Disk } from './disk.ts'

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

  const lines: SyncedLines = {
    isThere: () => is_there,
    async append(line) {
      const bytes = Buffer.from(`${line}\n`)
      const fd = disk.open(file, 'write')
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
        if (start === 0) disk.syncDirectory(path.dirname(file))
        torn_at = null
      } finally {
        disk.close(fd)
      }
      is_there = true
      return end
    },
    replace(wanted) {
      if (wanted.length > 0)
        replaceFile(disk, file, [Buffer.from(wanted.map((line) => `${line}\n`).join(''))])
      else {
        disk.remove(file)
        disk.syncDirectory(path.dirname(file))
      }
      is_there = wanted.length > 0
      torn_at = null
    },
    moveTo(other) {
      disk.rename(file, other)
      disk.syncDirectory(path.dirname(file))
      is_there = false
      torn_at = null
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
