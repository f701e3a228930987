/** What the faults of a simulation explain, and what nothing does. */
import { TurnbellError } from '../../src/contracts/errors.ts'
import { Violation } from '../support/violation.ts'
import { Killed } from './host.ts'

const DISK_ERRORS = ['ENOSPC', 'EIO']

/** Whatever else is thrown while the product runs breaks the promise that nothing does. */
export function asViolation(error: unknown): Violation {
  if (error instanceof Violation) return error
  return new Violation('nothing breaks', String(error instanceof Error ? error.stack : error))
}

/** What comes of a disk that fails, of a kill and of another hub may be said, and end something. */
export function isExcused(error: unknown): boolean {
  if (error instanceof Killed || DISK_ERRORS.includes((error as { code?: string } | null)?.code ?? ''))
    return true
  if (!(error instanceof TurnbellError)) return false
  if (error.code === 'store_unavailable') return isExcused(error.cause)
  return error.code === 'store_fenced' || error.code === 'hub_stopping'
}
