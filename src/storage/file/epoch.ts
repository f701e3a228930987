/**
 * The fencing epoch: a number in `hub/journal/epoch` that every open raises and every commit reads again.
 * A lock can be lost without notice by a process that stood still; with the epoch it notices before its
 * next byte.
 */
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'
import { replaceFile, type Disk } from './disk.ts'

export interface Epoch {
  readonly number: number
  /** Throws `store_fenced` when somebody has opened the journal since, `store_unavailable` when it is gone. */
  check(): void
}

export function raiseEpoch(disk: Disk, journal: string): Epoch {
  const file = path.join(journal, 'epoch')
  const number = (read(disk, file, isRaisable) ?? 0) + 1
  replaceFile(disk, file, [Buffer.from(`${number}\n`)])
  return {
    number,
    check() {
      const found = read(disk, file, isEpoch)
      if (found === number) return
      if (found === null) {
        throw new TurnbellError('store_unavailable', {
          detail: `${file} is gone: the journal was removed under the running hub`,
          hint: 'Put the directory back as it was and start the hub again.',
        })
      }
      throw new TurnbellError('store_fenced', {
        detail: `${file} says ${found}, this hub opened it as ${number}: another hub has taken the journal`,
      })
    },
  }
}

const isEpoch = (number: number) => Number.isSafeInteger(number) && number > 0
/** Above it there is another one. */
export const isRaisable = (number: number) => number > 0 && isEpoch(number + 1)

function read(disk: Disk, file: string, fits: (number: number) => boolean): number | null {
  const bytes = disk.readFile(file)
  if (bytes === null) return null
  const number = Number(bytes.toString('latin1').trim())
  if (fits(number)) return number
  throw new TurnbellError('store_damaged', {
    detail: `${file} at byte 0: this is no epoch: ${JSON.stringify(bytes.toString('latin1', 0, 40))}`,
    hint: `Make sure that no other hub runs on this directory, then write the highest epoch that a first line in ${path.dirname(file)} names into it.`,
  })
}
