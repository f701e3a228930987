/** Where pino writes to: a file that begins anew once it has grown long. */
import { pino } from 'pino'
import { LIMITS } from '../contracts/limits.ts'
import { setAsideIfLong, sizeOf } from './long-file.ts'

export type LogFile = ReturnType<typeof pino.destination>

export interface LogFileOptions {
  /** Written at once, so that a process that dies does not take the reason with it. */
  sync: boolean
  /** Lines beyond this are dropped while the disk stands still. */
  waiting_bytes_max?: number
  bytes_max?: number
}

export function openLogFile(file: string, options: LogFileOptions): LogFile {
  const { sync, waiting_bytes_max, bytes_max = LIMITS.log_file_bytes_max } = options
  const destination = pino.destination({
    ...{ dest: file, sync, mode: 0o600 },
    ...(waiting_bytes_max === undefined ? {} : { maxLength: waiting_bytes_max }),
  })
  const write = destination.write.bind(destination)
  let bytes = sizeOf(file)
  destination.write = (text) => {
    const goes_on = write(text)
    bytes += Buffer.byteLength(text)
    if (bytes >= bytes_max) {
      bytes = 0
      try {
        setAsideIfLong(file, bytes_max)
        destination.reopen()
      } catch {
        // It goes on as it is, and is tried again when as much has come.
      }
    }
    return goes_on
  }
  return destination
}
