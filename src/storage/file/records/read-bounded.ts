/** Reads the start of a project file by a name that a caller supplied. */
import fs from 'node:fs'
import { setImmediate as breathe } from 'node:timers/promises'
import { openInside } from '../../../system/files/inside.ts'
import { systemDisk } from '../journal/disk.ts'

/** `closed`: directories from which nothing may be read, even inside the project. */
export async function readProjectText(
  root: string,
  name: string,
  bytes_max: number,
  closed: readonly string[] = [],
): Promise<{ text: string; truncated: boolean } | { reason: string }> {
  await breathe()
  const opened = openInside(root, name, closed)
  if ('why' in opened) return { reason: opened.reason }
  try {
    // One more byte shows whether the file continues; the decoder drops a partial character at the end.
    const bytes = Buffer.alloc(bytes_max + 1)
    const read = systemDisk.read(opened.fd, bytes, 0)
    const truncated = read > bytes_max
    const shown = bytes.subarray(0, Math.min(read, bytes_max))
    return { text: new TextDecoder().decode(shown, { stream: truncated }), truncated }
  } finally {
    fs.closeSync(opened.fd)
  }
}
