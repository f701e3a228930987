/** Reads quarantined lines. */
import fs from 'node:fs'

export interface RejectedLine {
  reason: string
  line: string
  at: string
  base64?: string
}

export function rejectedIn(file: string): RejectedLine[] {
  if (!fs.existsSync(file)) return []
  const lines = fs.readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as RejectedLine)
}
