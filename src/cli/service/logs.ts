/** Reads the end of a log file of pino JSON lines, and formats each as one line for people. */
import fs from 'node:fs'
import { printable } from '../render.ts'

const BLOCK_BYTES = 1024 * 1024

/** Returns the last lines of the file, read backwards in blocks. */
export function tail(file: string, lines: number): string[] {
  if (!fs.existsSync(file)) return []
  const fd = fs.openSync(file, 'r')
  try {
    const blocks: Buffer[] = []
    let from = fs.fstatSync(fd).size
    // One line more than requested, because the first may be incomplete.
    for (let newlines = 0; from > 0 && newlines <= lines;) {
      const block = Buffer.alloc(Math.min(BLOCK_BYTES, from))
      from -= block.length
      fs.readSync(fd, block, 0, block.length, from)
      blocks.unshift(block)
      newlines += block.filter((byte) => byte === NEWLINE).length
    }
    const whole = Buffer.concat(blocks).toString('utf8').split('\n')
    return (from > 0 ? whole.slice(1) : whole).filter(Boolean).slice(-lines)
  } finally {
    fs.closeSync(fd)
  }
}

const NEWLINE = 10

const LEVELS: Record<number, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

/** Returns the parsed line. Text that is not JSON, from a process that crashed before it could log, stays text. */
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
