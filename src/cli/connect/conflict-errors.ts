/** Errors for entries and files that exist and were not written by this home. */
import { TurnbellError } from '../../contracts/errors/errors.ts'

/** `where` contains the file, the position if it is known, and the name. */
export function entryConflict(what: 'entry' | 'table', where: string): TurnbellError {
  return new TurnbellError('connection_taken', {
    detail: `${where} exists already and differs from what turnbell would write for this home.`,
    hint: `Rename or remove that ${what}, or disconnect with the --home that connected it; then connect again. Nothing was changed.`,
  })
}

export function fileConflict(file: string): TurnbellError {
  return new TurnbellError('connection_taken', {
    detail: `${file} exists already and differs from what turnbell wrote.`,
    hint: 'Rename or remove it, then connect again. Nothing was changed.',
  })
}
