/** The hub's two logs in JSON lines: `hub.log` for events of the hub, `dispatch.jsonl` with one line per dispatch. */
import { pino } from 'pino'
import type { Config } from '../../contracts/config.ts'
import type { DispatchLine } from '../../kernel/dispatch.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import { openRotatingLog } from '../../system/files/rotating-log.ts'

export interface HubLogs {
  log: Log
  dispatch(line: DispatchLine): void
  flush(): void
  close(): void
}

const FLUSH_MS = 1_000
/** Dispatch lines are written in the background, when `gathered_bytes` are buffered or after `FLUSH_MS`. */
const BUFFERING = { gathered_bytes: 32 * 1024, waiting_bytes_max: 8 * 1024 * 1024 }

export function openHubLogs(
  files: { hub_log: string; dispatch_log: string },
  level: Config['log']['level'],
  clock: Clock,
): HubLogs {
  const hub_file = openRotatingLog(files.hub_log, {
    onDropped: ({ message }) => process.stderr.write(`warn: hub.log cannot be written (${message})\n`),
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
  const dispatch_file = openRotatingLog(files.dispatch_log, {
    async: BUFFERING,
    onDropped: (err) => log.warn({ err }, 'the dispatch log cannot be written'),
  })
  let closed = false
  const flushing = clock.every(FLUSH_MS, () => dispatch_file.startWrite())

  return {
    log,
    dispatch: (line) => dispatch_file.write(`${JSON.stringify(line)}\n`),
    // hub.log is written synchronously.
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

/** Prints warnings and errors in short form for the person at the terminal. */
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
