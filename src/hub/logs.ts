/** The hub's two logs, JSON lines both: what happened to it, and one line for every dispatch. */
import { pino } from 'pino'
import type { Config } from '../contracts/config.ts'
import type { DispatchLine } from '../kernel/dispatch.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import { openLogFile } from '../system/log-file.ts'

export interface HubLogs {
  log: Log
  dispatch(line: DispatchLine): void
  flush(): void
  close(): void
}

const FLUSH_MS = 1_000
/** So much of dispatch lines is gathered before they are written, or for a second. */
const BEHIND = { gathered_bytes: 32 * 1024, waiting_bytes_max: 8 * 1024 * 1024 }

export function openHubLogs(
  files: { hub_log: string; dispatch_log: string },
  level: Config['log']['level'],
  clock: Clock,
): HubLogs {
  const hub_file = openLogFile(files.hub_log, {
    onDropped: ({ message }) => process.stderr.write(`warn: the hub's log cannot be written (${message})\n`),
  })
  const log = pino(
    {
      level,
      base: { pid: process.pid },
      redact: {
        paths: ['token', '*.token', 'authorization', '*.authorization', 'headers.cookie'],
        censor: 'REDACTED',
      },
    },
    pino.multistream([
      { level: 'trace', stream: hub_file },
      { level: 'warn', stream: { write: showShort } },
    ]),
  )
  const dispatch_file = openLogFile(files.dispatch_log, {
    behind: BEHIND,
    onDropped: (err) => log.warn({ err }, 'the dispatch log cannot be written'),
  })
  let closed = false
  const flushing = clock.every(FLUSH_MS, () => dispatch_file.handOver())

  return {
    log,
    dispatch: (line) => dispatch_file.write(`${JSON.stringify(line)}\n`),
    // The other has nothing to flush.
    flush: () => dispatch_file.flush(),
    close() {
      if (closed) return
      closed = true
      flushing.cancel()
      dispatch_file.close()
      hub_file.close()
    },
  }
}

/** Warnings and worse, for the person at the terminal. */
function showShort(line: string): void {
  const entry = JSON.parse(line) as {
    level: number
    msg?: string
    err?: { message?: string }
    detail?: string
  }
  const word = entry.level >= 50 ? 'error' : 'warn'
  const more = entry.err?.message ?? entry.detail
  process.stderr.write(`${word}: ${entry.msg ?? ''}${more === undefined ? '' : ` (${more})`}\n`)
}
