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
const GATHERED_CHARS = 32 * 1024
/** Lines beyond this are dropped: a disk that stands still must not fill the memory. */
const WAITING_BYTES_MAX = 8 * 1024 * 1024

export function openHubLogs(
  files: { hub_log: string; dispatch_log: string },
  level: Config['log']['level'],
  clock: Clock,
): HubLogs {
  const hub_file = openLogFile(files.hub_log, { sync: true })
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
  const dispatch_file = openLogFile(files.dispatch_log, { sync: false, waiting_bytes_max: WAITING_BYTES_MAX })
  // A full disk must not end the hub: nobody waits for a log line.
  hub_file.on('error', () => undefined)
  let told = false
  let closed = false
  dispatch_file.on('error', (err: Error) => {
    if (!told) log.warn({ err }, 'the dispatch log cannot be written')
    told = true
  })
  // Gathered here: the file would look at all that it has gathered again with every line.
  let gathered: string[] = []
  let chars = 0
  const handOver = () => {
    if (chars === 0) return
    dispatch_file.write(gathered.join(''))
    gathered = []
    chars = 0
  }
  const flushing = clock.every(FLUSH_MS, handOver)

  const flush = () => {
    hub_file.flushSync()
    handOver()
    try {
      dispatch_file.flushSync()
    } catch {
      // Not open yet: nothing was dispatched.
    }
  }
  return {
    log,
    dispatch(line) {
      const text = `${JSON.stringify(line)}\n`
      gathered.push(text)
      chars += text.length
      if (chars >= GATHERED_CHARS) handOver()
    },
    flush,
    close() {
      if (closed) return
      closed = true
      flushing.cancel()
      flush()
      dispatch_file.end()
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
