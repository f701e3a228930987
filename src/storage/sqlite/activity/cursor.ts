/** Cursors of lists: the position of the last returned row, as base64url JSON. */
import { TurnbellError } from '../../../contracts/errors/errors.ts'

export interface Position {
  time: string
  number: number
}

export function encodeCursor({ time, number }: Position): string {
  return Buffer.from(JSON.stringify([time, number])).toString('base64url')
}

/** Throws `params_invalid` for text that is not a cursor of a list. */
export function decodeCursor(cursor: string): Position {
  const [time, number, ...rest] = parsed(cursor)
  if (typeof time === 'string' && Number.isSafeInteger(number) && rest.length === 0)
    return { time, number: number as number }
  throw new TurnbellError('params_invalid', {
    detail: 'cursor: it was not returned by this list',
    hint: 'Call again without a cursor.',
  })
}

function parsed(cursor: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
