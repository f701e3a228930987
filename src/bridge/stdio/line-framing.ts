/** Splits the client's input into lines, and combines the lines of one tick of the event loop into one write. */
import type { Writable } from 'node:stream'
import { afterATick } from '../../transports/after-a-tick.ts'

/** Both ends of a line that is too long, each at most `END_LENGTH` characters. */
export interface TruncatedLine {
  begin: string
  end: string
}

/** Characters kept of each end of a line that is too long; enough to find its id. */
const END_LENGTH = 1_024

export interface LineReaderOptions {
  /** Maximum length of a line in characters. */
  length_max: number
  onLine(line: string): void
  /** Called when a line exceeds the maximum, before its end has arrived. */
  onTooLong(): void
  /** Called when that line has ended. */
  onTruncated(line: TruncatedLine): void
}

/** Returns a function that takes the input in pieces. */
export function createLineReader(options: LineReaderOptions): (text: string) => void {
  /** Beginning of a line that is not yet complete. */
  let parts: string[] = []
  let length = 0
  let truncated: TruncatedLine | null = null

  /** Keeps only both ends of a line that is too long: a client that sends one must not lose its tools. */
  function append(part: string): void {
    length += part.length
    if (length <= options.length_max) parts.push(part)
    else if (truncated === null) {
      const whole = parts.join('') + part
      truncated = { begin: whole.slice(0, END_LENGTH), end: whole.slice(-END_LENGTH) }
      parts = []
      options.onTooLong()
    } else truncated.end = (truncated.end + part.slice(-END_LENGTH)).slice(-END_LENGTH)
  }

  function endLine(): void {
    const line = parts.join('')
    const ends = truncated
    parts = []
    length = 0
    truncated = null
    if (ends === null) options.onLine(line)
    else options.onTruncated(ends)
  }

  return (text) => {
    const [end = '', ...lines] = text.split('\n')
    append(end)
    for (const begin of lines) {
      endLine()
      append(begin)
    }
  }
}

interface PendingWrite<T> {
  lines: string[]
  answers: T[]
  written: Promise<void>
}

/**
 * Returns a function that writes a line and resolves when it is written. `onWritten` receives the answers of the
 * lines that were written together, once earlier input was handled.
 */
export function createLineWriter<T>(
  output: Writable,
  onWritten: (answers: readonly T[], resolve: () => void) => void,
): (line: string, answers: readonly T[]) => Promise<void> {
  let pending: PendingWrite<T> | null = null

  /** Combines lines, because a write costs more than most answers. */
  function beginWrite(): PendingWrite<T> {
    const lines: string[] = []
    const answers: T[] = []
    const written = new Promise<void>((resolve, reject) => {
      // Runs after all promises that are settling now.
      process.nextTick(() => {
        pending = null
        output.write(lines.join(''), (error) => {
          if (error) reject(error)
          else afterATick(() => onWritten(answers, resolve))
        })
      })
    })
    return { lines, answers, written }
  }

  return (line, answers) => {
    const write = (pending ??= beginWrite())
    write.lines.push(`${line}\n`)
    write.answers.push(...answers)
    return write.written
  }
}
