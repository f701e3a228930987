/** Log lines for the small processes: JSON on stderr, in pino's shape, without pino's weight. */
import fs from 'node:fs'
import type { Log } from '../ports/log.ts'
import type { Config } from '../contracts/config.ts'
import { setAsideIfLong } from './long-file.ts'

const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, silent: Infinity } as const

export function stderrLog(level: Config['log']['level'], bound: object): Log {
  // Whoever read it may be gone: nobody waits for a log line, and what the process still has to do comes first.
  process.stderr.off('error', ignored).on('error', ignored)
  return jsonLog(level, bound, (line) => process.stderr.write(line))
}

const ignored = () => undefined

/** The same into a file, for a process whose stderr nobody keeps. Written at once: such a process may be killed. */
export function fileLog(level: Config['log']['level'], bound: object, file: string): Log {
  return jsonLog(level, bound, (line) => {
    try {
      setAsideIfLong(file)
      fs.appendFileSync(file, line, { mode: 0o600 })
    } catch {
      // A full disk or a folder that is gone must not end the process: nobody waits for a log line.
    }
  })
}

/** Each line into both. */
export function bothLogs(one: Log, other: Log): Log {
  const to = (level: keyof Log) => (fields: object, message: string) => {
    one[level](fields, message)
    other[level](fields, message)
  }
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') }
}

function jsonLog(level: Config['log']['level'], bound: object, write: (line: string) => void): Log {
  const lowest = LEVELS[level]
  const line = (number: number) => (fields: object, message: string) => {
    if (number < lowest) return
    const entry = {
      level: number,
      time: Date.now(),
      pid: process.pid,
      ...bound,
      ...readable(fields),
      msg: message,
    }
    write(`${JSON.stringify(entry)}\n`)
  }
  return { debug: line(20), info: line(30), warn: line(40), error: line(50) }
}

/** An Error's message and stack are not enumerable, so JSON would show an empty object. */
function readable(fields: object): object {
  const { err, ...rest } = fields as { err?: unknown }
  if (!(err instanceof Error)) return fields
  return { ...rest, err: { type: err.name, message: err.message, stack: err.stack } }
}
