/** What `connect` needs a name for bears that name already. */
import { TurnbellError } from '../../contracts/errors.ts'

/** `where` names the file, the place in it where that is known, and the name. */
export function isTaken(what: 'entry' | 'table', where: string): TurnbellError {
  return new TurnbellError('connection_taken', {
    detail: `${where} is there already, and not as turnbell would write it from this home.`,
    hint: `Rename or remove that ${what}, or disconnect with the --home that connected it; then connect again. Nothing was changed.`,
  })
}

export function isTakenFile(file: string): TurnbellError {
  return new TurnbellError('connection_taken', {
    detail: `${file} is there already, and not as turnbell wrote it.`,
    hint: 'Rename or remove it, then connect again. Nothing was changed.',
  })
}
