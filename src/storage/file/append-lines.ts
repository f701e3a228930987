/**
 * Lines behind those of a file that people and other programs write, too. They know nothing of our lock, so
 * what was written is looked at again before anybody is told that it is there.
 */
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { endsInLine, openToAppend, writeBehind } from './append-file.ts'
import { systemDisk } from './disk.ts'
import { plainFileAt } from './watched-file.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'

export interface AppendOptions {
  needWay: () => void
  /** Asked at the last moment. */
  mayChange: () => void
  pause: (ms: number) => Promise<unknown>
}

const sync = promisify(fs.fdatasync)
const NEWLINE = Buffer.from('\n')

/** Resolves when they survive a crash. `lines` end in a newline. */
export async function appendLines(file: string, lines: Buffer, options: AppendOptions): Promise<void> {
  let missing = lines
  for (let tries = 1; tries <= LIMITS.file_appends_max; tries += 1) {
    await endOfHalfLine(file, options.pause)
    const former = await appendedOnce(file, missing, options)
    if (former === null) return
    // An editor may have put another file in its place, or written over it; and may have taken along what it read.
    missing = withoutTaken(file, missing, former)
  }
  throw new TurnbellError('store_unavailable', {
    detail: `${file} was replaced by somebody else ${LIMITS.file_appends_max} times while it was being written`,
    hint: 'See what keeps writing it, then call again.',
  })
}

/** Those of which the file does not hold more than it did before they were written. */
function withoutTaken(file: string, lines: Buffer, former: Buffer): Buffer {
  if (plainFileAt(file) === null) return lines
  const [before, now] = [countsOf(former), countsOf(fs.readFileSync(file))]
  const isTaken = (line: string) => (now.get(line) ?? 0) > (before.get(line) ?? 0)
  return Buffer.from(
    linesOf(lines)
      .flatMap((line) => (isTaken(line) ? [] : [`${line}\n`]))
      .join(''),
  )
}

function countsOf(bytes: Buffer): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of linesOf(bytes)) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

function linesOf(bytes: Buffer): string[] {
  return bytes.toString('utf8').split('\n').filter(Boolean)
}

/**
 * Whoever writes a line in several steps is given the time to end it; a killed process never will. Looked at often:
 * who writes many may have begun the next one soon.
 */
async function endOfHalfLine(file: string, pause: AppendOptions['pause']): Promise<void> {
  for (let looks = 1; looks < LIMITS.file_half_line_looks_max; looks += 1) {
    if (plainFileAt(file) === null || endsNow(file)) return
    const age_ms = Math.abs(Date.now() - (plainFileAt(file)?.mtimeMs ?? 0))
    if (age_ms >= LIMITS.file_settle_ms) return
    await pause(Math.min(LIMITS.file_half_line_look_ms, LIMITS.file_settle_ms - age_ms))
  }
}

function endsNow(file: string): boolean {
  const fd = openToAppend(file)
  try {
    return endsInLine(fd, fs.fstatSync(fd).size)
  } finally {
    fs.closeSync(fd)
  }
}

/** Null when they are there for good, otherwise what the file was before. */
async function appendedOnce(file: string, lines: Buffer, options: AppendOptions): Promise<Buffer | null> {
  options.needWay()
  const isNew = plainFileAt(file) === null
  const fd = openToAppend(file)
  try {
    const { size, ino } = fs.fstatSync(fd)
    const text = endsInLine(fd, size) ? lines : Buffer.concat([NEWLINE, lines])
    options.mayChange()
    writeBehind(fd, text)
    await sync(fd)
    if (isNew) systemDisk.syncDirectory(path.dirname(file))
    return plainFileAt(file)?.ino === ino && holds(fd, size, lines) ? null : beginningOf(fd, size)
  } finally {
    fs.closeSync(fd)
  }
}

function beginningOf(fd: number, size: number): Buffer {
  const bytes = Buffer.alloc(Math.min(size, fs.fstatSync(fd).size))
  systemDisk.read(fd, bytes, 0)
  return bytes
}

/** Behind half a line that somebody else wrote meanwhile they would be the rest of it. */
function holds(fd: number, former_size: number, lines: Buffer): boolean {
  const from = Math.max(0, former_size - 1)
  const bytes = Buffer.alloc(Math.max(0, fs.fstatSync(fd).size - from))
  systemDisk.read(fd, bytes, from)
  const whole = Buffer.concat([NEWLINE, lines])
  return bytes.includes(whole) || (from === 0 && bytes.subarray(0, lines.length).equals(lines))
}
