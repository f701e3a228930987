/** What stood in a file of records and is none goes elsewhere, with the reason, before it leaves that file. */
import fs from 'node:fs'
import { isUtf8 } from 'node:buffer'
import path from 'node:path'
import { endsInLine, openToAppend, writeBehind } from './append-file.ts'
import { systemDisk } from './disk.ts'

export interface RejectedLine {
  reason: string
  line: Buffer
}

/** Survives a crash of the machine when it returns. */
export function keepRejected(file: string, rejects: readonly RejectedLine[]): void {
  const at = new Date().toISOString()
  const lines = rejects.map(({ reason, line }) => {
    // Text says what it said; what is no text is kept byte for byte.
    const kept = isUtf8(line) ? {} : { base64: line.toString('base64') }
    return `${JSON.stringify({ reason, line: line.toString('utf8'), at, ...kept })}\n`
  })
  const folder = path.dirname(file)
  const made = fs.mkdirSync(folder, { recursive: true })
  const fd = openToAppend(file)
  try {
    const { size } = fs.fstatSync(fd)
    const text = `${endsInLine(fd, size) ? '' : '\n'}${lines.join('')}`
    writeBehind(fd, Buffer.from(text))
    systemDisk.syncNow(fd)
  } finally {
    fs.closeSync(fd)
  }
  const changed = made === undefined ? [folder] : [folder, path.dirname(folder), path.dirname(made)]
  for (const one of new Set(changed)) systemDisk.syncDirectory(one)
}
