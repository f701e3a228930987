/** What the system says about a file, in words for the one who must mend it. */
import { TurnbellError } from '../../contracts/errors.ts'
import { isFullDisk, isSystemError } from '../../system/system-error.ts'
import { codeOf } from './disk.ts'

/** `detail` says what could not be done. A refusal passes as it is. */
export function refusalOf(cause: unknown, detail: string): TurnbellError {
  if (cause instanceof TurnbellError) return cause
  return new TurnbellError('store_unavailable', {
    detail: `${detail}: ${String(cause)}`,
    hint: isFullDisk(codeOf(cause))
      ? 'Make room on the disk; a hub that runs goes on by itself then. What was accepted is safe.'
      : 'Look at the disk; a hub that runs goes on by itself once it can write. What was accepted is safe.',
    cause,
  })
}

/** Does something to a file of records. A refusal passes as it is. */
export async function writing<T>(file: string, work: (file: string) => Promise<T>): Promise<T> {
  try {
    return await work(file)
  } catch (cause) {
    if (cause instanceof TurnbellError) throw cause
    throw new TurnbellError('store_unavailable', {
      detail: `${file} cannot be written: ${String(cause)}`,
      hint: 'Look at the disk and at who may write there, then call again.',
      cause,
    })
  }
}

/** What to throw where a look at a file or a folder failed. What no system has said is no refusal, and stays as it is. */
export function unreadable(file: string, cause: unknown): unknown {
  if (!isSystemError(cause)) return cause
  return new TurnbellError('store_unavailable', {
    detail: `${file} cannot be read: ${String(cause)}`,
    hint: 'Look at the disk and at who may read there, then call again.',
    cause,
  })
}
