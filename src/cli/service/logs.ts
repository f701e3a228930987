/** The end of a log file: pino JSON lines, for people in one line each. */
import fs from 'node:fs'
import { printable } from '../render.ts'

/** A line is rarely longer than 1 KiB; this much holds more of them than anybody asks for. */
const TAIL_BYTES = 1024 * 1024

export function tail(file: string, lines: number): string[] {
  if (!fs.existsSync(file)) return []
  const fd = fs.openSync(file, 'r')
  try {
    const { size } = fs.fstatSync(fd)
    const from = Math.max(0, size - TAIL_BYTES)
    const bytes = Buffer.alloc(size - from)
    fs.readSync(fd, bytes, 0, bytes.length, from)
    const found = bytes.toString('utf8').split('\n').filter(Boolean)
    // The first of a cut file is most likely half a line.
    return (from > 0 ? found.slice(1) : found).slice(-lines)
  } finally {
    fs.closeSync(fd)
  }
}

const LEVELS: Record<number, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

/** A line as data; one that is no JSON (a process that broke before it could log) stays text. */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch {
    return line
  }
}

export function describeLine(line: string): string {
  const value = parseLine(line)
  if (value === null || typeof value !== 'object') return printable(line)
  const { time, level, msg, pid: _pid, hostname: _host, v: _v, ...rest } = value as Record<string, unknown>
  const when = typeof time === 'number' ? new Date(time).toISOString() : typeof time === 'string' ? time : ''
  const how =
    typeof level === 'number' ? (LEVELS[level] ?? `${level}`) : typeof level === 'string' ? level : ''
  const more = Object.keys(rest).length === 0 ? '' : `  ${JSON.stringify(rest)}`
  return printable(`${when}  ${how.padEnd(5)}  ${typeof msg === 'string' ? msg : ''}${more}`.trim())
}
