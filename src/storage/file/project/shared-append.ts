/**
 * Appends lines to a file that people and other programs also write. They do not use turnbell's lock, so
 * the appended lines are verified before the append resolves.
 */
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { endsWithNewline, openToAppend, appendFully } from './append-file.ts'
import { systemDisk } from '../journal/disk.ts'
import { readPlainBytes, plainFileAt } from './watched-file.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'

export interface AppendOptions {
  checkPath: () => void
  /** Called right before writing; throws if not allowed. */
  mayChange: () => void
  pause: (ms: number) => Promise<unknown>
}

const sync = promisify(fs.fdatasync)
const NEWLINE = Buffer.from('\n')

/** Resolves when the lines are durable. `lines` must end with a newline. */
export async function appendLines(file: string, lines: Buffer, options: AppendOptions): Promise<void> {
  let missing = lines
  for (let tries = 1; tries <= LIMITS.file_appends_max; tries += 1) {
    await waitForLineEnd(file, options.pause)
    const before = await appendOnce(file, missing, options)
    if (before === null) return
    // An editor may have replaced or overwritten the file; it may have kept some of these lines.
    missing = missingLines(file, missing, before)
  }
  throw new TurnbellError('store_unavailable', {
    detail: `${file} was replaced by another program ${LIMITS.file_appends_max} times while it was being written`,
    hint: 'Find the program that keeps writing it, then call again.',
  })
}

/** Returns the lines that do not occur more often than before they were written. */
function missingLines(file: string, lines: Buffer, former_bytes: Buffer): Buffer {
  const bytes = readPlainBytes(file)
  if (bytes === null) return lines
  const [before, now] = [countsOf(former_bytes), countsOf(bytes)]
  const isKept = (line: string) => (now.get(line) ?? 0) > (before.get(line) ?? 0)
  return Buffer.from(
    linesOf(lines)
      .flatMap((line) => (isKept(line) ? [] : [`${line}\n`]))
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
 * Waits until a partial last line gets its newline, up to the settle time; a killed process never completes it. Polls often,
 * because a busy writer may soon begin its next line.
 */
async function waitForLineEnd(file: string, pause: AppendOptions['pause']): Promise<void> {
  for (let looks = 1; looks < LIMITS.file_half_line_looks_max; looks += 1) {
    if (plainFileAt(file) === null || endsInNewline(file)) return
    const age_ms = Math.abs(Date.now() - (plainFileAt(file)?.mtimeMs ?? 0))
    if (age_ms >= LIMITS.file_settle_ms) return
    await pause(Math.min(LIMITS.file_half_line_look_ms, LIMITS.file_settle_ms - age_ms))
  }
}

function endsInNewline(file: string): boolean {
  const fd = openToAppend(file)
  try {
    return endsWithNewline(fd, fs.fstatSync(fd).size)
  } finally {
    fs.closeSync(fd)
  }
}

/** Appends and verifies. Returns null if the lines are durable, otherwise the content before them. */
async function appendOnce(file: string, lines: Buffer, options: AppendOptions): Promise<Buffer | null> {
  options.checkPath()
  const isNew = plainFileAt(file) === null
  const fd = openToAppend(file)
  try {
    const { size, ino } = fs.fstatSync(fd)
    const text = endsWithNewline(fd, size) ? lines : Buffer.concat([NEWLINE, lines])
    options.mayChange()
    appendFully(fd, text)
    await sync(fd)
    if (isNew) systemDisk.syncDirectory(path.dirname(file))
    return plainFileAt(file)?.ino === ino && containsLines(fd, size, lines) ? null : readStart(fd, size)
  } finally {
    fs.closeSync(fd)
  }
}

function readStart(fd: number, size: number): Buffer {
  const bytes = Buffer.alloc(Math.min(size, fs.fstatSync(fd).size))
  systemDisk.read(fd, bytes, 0)
  return bytes
}

/** Returns whether the file contains the lines as whole lines, not as the end of another program's partial line. */
function containsLines(fd: number, former_size: number, lines: Buffer): boolean {
  const from = Math.max(0, former_size - 1)
  const bytes = Buffer.alloc(Math.max(0, fs.fstatSync(fd).size - from))
  systemDisk.read(fd, bytes, from)
  const whole = Buffer.concat([NEWLINE, lines])
  return bytes.includes(whole) || (from === 0 && bytes.subarray(0, lines.length).equals(lines))
}
