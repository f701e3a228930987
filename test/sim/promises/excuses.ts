/** Separates errors that the faults of a simulation explain from errors that break a promise. */
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { Violation } from '../../support/violation.ts'
import { Killed } from '../world/host.ts'

const DISK_ERRORS = ['ENOSPC', 'EIO']

/** Returns any other exception as a violation, because the product must not throw it. */
export function asViolation(error: unknown): Violation {
  if (error instanceof Violation) return error
  return new Violation('nothing breaks', String(error instanceof Error ? error.stack : error))
}

/** Returns whether a failing disk, a kill or another hub explains the error. */
export function isExcused(error: unknown): boolean {
  if (error instanceof Killed || DISK_ERRORS.includes((error as { code?: string } | null)?.code ?? ''))
    return true
  if (!(error instanceof TurnbellError)) return false
  if (error.code === 'store_unavailable') return isExcused(error.cause)
  return error.code === 'store_fenced' || error.code === 'hub_stopping'
}
