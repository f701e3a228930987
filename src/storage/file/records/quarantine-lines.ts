/** Copies invalid lines of a record file to a quarantine file with their reason, before they are removed from it. */
import fs from 'node:fs'
import { isUtf8 } from 'node:buffer'
import path from 'node:path'
import { endsWithNewline, openToAppend, appendFully } from '../project/append-file.ts'
import { systemDisk } from '../journal/disk.ts'

export interface RejectedLine {
  reason: string
  line: Buffer
}

/** Appends the lines to the quarantine file; durable when it returns. */
export function quarantineLines(file: string, rejects: readonly RejectedLine[]): void {
  const at = new Date().toISOString()
  const lines = rejects.map(({ reason, line }) => {
    // A line that is not UTF-8 is also kept byte for byte.
    const kept = isUtf8(line) ? {} : { base64: line.toString('base64') }
    return `${JSON.stringify({ reason, line: line.toString('utf8'), at, ...kept })}\n`
  })
  const folder = path.dirname(file)
  const made = fs.mkdirSync(folder, { recursive: true })
  const fd = openToAppend(file)
  try {
    const { size } = fs.fstatSync(fd)
    const text = `${endsWithNewline(fd, size) ? '' : '\n'}${lines.join('')}`
    appendFully(fd, Buffer.from(text))
    systemDisk.syncNow(fd)
  } finally {
    fs.closeSync(fd)
  }
  const changed = made === undefined ? [folder] : [folder, path.dirname(folder), path.dirname(made)]
  for (const one of new Set(changed)) systemDisk.syncDirectory(one)
}
