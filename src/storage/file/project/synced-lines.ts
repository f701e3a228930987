/** A private file of lines that are durable when their append resolves. A partial line at its end is discarded. */
import path from 'node:path'
import { writeDraft, writeFully, type Disk } from '../journal/disk.ts'

export interface SyncedLines {
  exists(): boolean
  /** Appends the lines and returns the new length of the file in bytes. */
  append(...lines: readonly string[]): Promise<number>
  /** Replaces all lines atomically; removes the file if there are none. */
  replace(lines: readonly string[]): void
  /** Renames the file, replacing any file of that name; the next append creates a new file. */
  moveTo(other: string): void
}

/** `found`: the complete lines in the file. */
export function openSyncedLines(disk: Disk, file: string): { found: readonly string[]; lines: SyncedLines } {
  // Left by a process that crashed in `replace`.
  disk.remove(`${file}.new`)
  const text = disk.readFile(file)
  const end = text === null ? 0 : endOfLines(text)
  let is_there = text !== null
  /** Offset of a partial line, left by a crash or a full disk. */
  let torn_at = text !== null && text.length > end ? end : null
  let name_synced = true

  /** Records that the name refers to another file. Called before syncing the name, because that may fail. */
  const noteReplaced = (exists: boolean) => {
    is_there = exists
    torn_at = null
    name_synced = false
  }
  const syncName = () => {
    disk.syncDirectory(path.dirname(file))
    name_synced = true
  }

  const lines: SyncedLines = {
    exists: () => is_there,
    async append(...more) {
      const bytes = Buffer.from(more.map((line) => `${line}\n`).join(''))
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
    replace(replacement) {
      if (replacement.length === 0) disk.remove(file)
      else {
        const bytes = Buffer.from(replacement.map((line) => `${line}\n`).join(''))
        disk.rename(writeDraft(disk, file, [bytes]), file)
      }
      noteReplaced(replacement.length > 0)
      syncName()
    },
    moveTo(other) {
      disk.rename(file, other)
      noteReplaced(false)
      syncName()
    },
  }
  return { found: text === null ? [] : text.subarray(0, end).toString().split('\n').slice(0, -1), lines }
}

/** Returns the end of the last complete line. A power cut may leave a line whose start reads as zeros. */
function endOfLines(text: Buffer): number {
  const end = text.lastIndexOf(0x0a) + 1
  const last = end < 2 ? 0 : text.lastIndexOf(0x0a, end - 2) + 1
  return text.subarray(last, end).includes(0) ? last : end
}
