/** What the system says about a file, in words for the one who must mend it. */
import { TurnbellError } from '../../contracts/errors.ts'
import { codeOf } from './disk.ts'

/** `detail` says what could not be done. A refusal passes as it is. */
export function refusalOf(cause: unknown, detail: string): TurnbellError {
  if (cause instanceof TurnbellError) return cause
  const code = codeOf(cause)
  const full = code === 'ENOSPC' || code === 'EDQUOT'
  return new TurnbellError('store_unavailable', {
    detail: `${detail}: ${String(cause)}`,
    hint: full
      ? 'Make room on the disk, then start the hub again; what was accepted is safe.'
      : 'Look at the disk, then start the hub again; what was accepted is safe.',
    cause,
  })
}
