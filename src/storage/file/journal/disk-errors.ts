/** Converts system errors of files to `store_unavailable`, with a hint for the person who fixes the disk. */
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { Refused } from '../../../system/files/inside.ts'
import { diskHint, isSystemError } from '../../../system/files/system-error.ts'
import { codeOf } from './disk.ts'

/** Converts an error; `detail` names the failed operation. Returns a TurnbellError unchanged. */
export function toStoreError(cause: unknown, detail: string): TurnbellError {
  if (cause instanceof TurnbellError) return cause
  return new TurnbellError('store_unavailable', {
    detail: `${detail}: ${String(cause)}`,
    hint: `${diskHint(codeOf(cause))}. A running hub then continues by itself; accepted signals are safe.`,
    cause,
  })
}

/** Runs a write to a file of records and converts its errors. Rethrows a TurnbellError unchanged. */
export async function withWriteErrors<T>(file: string, work: (file: string) => Promise<T>): Promise<T> {
  try {
    return await work(file)
  } catch (cause) {
    if (cause instanceof TurnbellError) throw cause
    throw new TurnbellError('store_unavailable', {
      detail: `${file} cannot be written: ${String(cause)}`,
      hint: `${diskHint(codeOf(cause))}, then call again.`,
      cause,
    })
  }
}

/** Returns the error to throw after a failed read. An error that is not a system error is returned unchanged. */
export function toReadError(file: string, cause: unknown): unknown {
  if (!isSystemError(cause)) return cause
  return new TurnbellError('store_unavailable', {
    detail: `${file} cannot be read: ${String(cause)}`,
    hint: `${diskHint(codeOf(cause))}, then call again.`,
    cause,
  })
}

/** Returns the error to throw if a file of a project must not be opened. */
export function openRefused(file: string, { why, reason }: Refused): TurnbellError {
  return new TurnbellError('store_unavailable', {
    detail: `${file} cannot be read: ${reason}`,
    hint:
      why === 'shared'
        ? 'Give it its own content: `cp FILE COPY`, then `mv COPY FILE`.'
        : 'Check where it comes from, then call again.',
  })
}
