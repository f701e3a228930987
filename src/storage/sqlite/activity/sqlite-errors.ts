/** Converts errors of SQLite: damage, a disk that refuses writes, and bugs. */
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { diskHint, isSystemError } from '../../../system/files/system-error.ts'

const DAMAGED = /^SQLITE_(CORRUPT|NOTADB)/
const UNAVAILABLE = /^SQLITE_(FULL|READONLY|IOERR|CANTOPEN|BUSY|LOCKED|PERM|NOMEM|AUTH|PROTOCOL|NOLFS)/
/** Reported by libsql without a code if the file cannot be opened. */
const NOT_OPENED = 'Unable to open connection'

/** Returns the error for a file that failed SQLite's check. */
export function damageFound(found: string): Error {
  return Object.assign(new Error(found), { code: 'SQLITE_CORRUPT' })
}

/** Whether the database must be replaced by a new one. */
export function isDamaged(error: unknown): boolean {
  return DAMAGED.test(codeOf(error))
}

/** Converts an error of the disk to `store_unavailable`; returns any other error unchanged. */
export function toActivityError(cause: unknown, file: string): unknown {
  if (cause instanceof TurnbellError || !isUnavailable(cause)) return cause
  return new TurnbellError('store_unavailable', {
    detail: `${file}: ${String(cause)}`,
    hint: `${hintOf(codeOf(cause))}. Signals are not affected.`,
    cause,
  })
}

function isUnavailable(error: unknown): boolean {
  if (isSystemError(error) || isDamaged(error)) return true
  return UNAVAILABLE.test(codeOf(error)) || (error instanceof Error && error.message.includes(NOT_OPENED))
}

function hintOf(code: string): string {
  if (code === 'SQLITE_FULL') return diskHint('ENOSPC')
  if (code.startsWith('SQLITE_READONLY')) return diskHint('EROFS')
  return diskHint(code)
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}
