/** JSON log on stderr for small processes, in the format of pino without loading it. */
import fs from 'node:fs'
import type { Log } from '../../ports/log.ts'
import type { Config } from '../../contracts/config.ts'
import { rotateIfLarge } from './log-rotation.ts'

const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, silent: Infinity } as const

export function stderrLog(level: Config['log']['level'], bound: object): Log {
  // The reader of stderr may be gone. That must not end the process, which may have work to finish.
  process.stderr.off('error', ignored).on('error', ignored)
  return jsonLog(level, bound, (line) => process.stderr.write(line))
}

const ignored = () => undefined

/**
 * The same into a file, for a process whose stderr is not collected. Written synchronously, because such a process may
 * be killed.
 */
export function fileLog(level: Config['log']['level'], bound: object, file: string): Log {
  return jsonLog(level, bound, (line) => {
    try {
      rotateIfLarge(file)
      fs.appendFileSync(file, line, { mode: 0o600 })
    } catch {
      // A full disk or a missing directory must not end the process.
    }
  })
}

/** Writes each line to both logs. */
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

/** Message and stack of an Error are not enumerable, so JSON would contain an empty object. */
function readable(fields: object): object {
  const { err, ...rest } = fields as { err?: unknown }
  if (!(err instanceof Error)) return fields
  return { ...rest, err: { type: err.name, message: err.message, stack: err.stack } }
}
