/**
 * The fencing epoch: a number in `hub/journal/epoch` that every open raises and every commit checks.
 * A suspended process can lose its lock without noticing; with the epoch it notices before it writes the
 * next byte.
 */
import path from 'node:path'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { codeOf, isNotAFile, replaceFile, type Disk } from './disk.ts'

export const EPOCH_FILE = 'epoch'

export interface Epoch {
  readonly number: number
  /**
   * Throws `store_fenced` if another hub opened the journal after this one, which always leaves a higher number.
   * Throws `store_unavailable` if the file is missing or contains a lower number, for example after a restored backup.
   */
  check(): void
}

/** Raises the epoch above `at_least`, the highest epoch recorded in the journal's files, even if the epoch file is missing. */
export function raiseEpoch(disk: Disk, journal: string, at_least: number): Epoch {
  const file = path.join(journal, EPOCH_FILE)
  const number = Math.max(readEpoch(disk, journal) ?? 0, at_least) + 1
  replaceFile(disk, file, [Buffer.from(`${number}\n`)])
  return {
    number,
    check() {
      const current = read(disk, file, isEpoch)
      if (current === number) return
      if (current === null || current < number) {
        const what =
          current === null ? 'was removed' : `was replaced by an older one (${current} instead of ${number})`
        throw new TurnbellError('store_unavailable', {
          detail: `${file} ${what} while the hub was running`,
          hint: 'If all other journal files exist, the hub rewrites it by itself. Otherwise restore those files, or restart the hub, which reports what is missing: `turnbell down`, then `turnbell hub`.',
        })
      }
      throw new TurnbellError('store_fenced', {
        detail: `${file} contains ${current}, this hub opened it as ${number}: another hub has taken the journal`,
      })
    },
  }
}

const isEpoch = (number: number) => Number.isSafeInteger(number) && number > 0
/** Returns whether a higher epoch exists. */
export const isRaisable = (number: number) => number > 0 && isEpoch(number + 1)

/** Returns null if there is no epoch file. @throws `store_damaged` if it does not contain a number that can be raised. */
export const readEpoch = (disk: Disk, journal: string) =>
  read(disk, path.join(journal, EPOCH_FILE), isRaisable)

function read(disk: Disk, file: string, fits: (number: number) => boolean): number | null {
  const text = textOf(disk, file)
  if (text === null) return null
  const number = Number(text.trim())
  if (fits(number)) return number
  throw damagedEpoch(file, `not a valid epoch: ${JSON.stringify(text.slice(0, 40))}`)
}

function textOf(disk: Disk, file: string): string | null {
  try {
    return disk.readFile(file)?.toString('latin1') ?? null
  } catch (error) {
    if (isNotAFile(codeOf(error))) throw damagedEpoch(file, 'it is not a regular file')
    throw error
  }
}

function damagedEpoch(file: string, reason: string): TurnbellError {
  return new TurnbellError('store_damaged', {
    detail: `${file} at byte 0: ${reason}`,
    hint: 'Make sure that no other hub uses this directory, then run `turnbell hub --repair`, which rewrites it.',
  })
}
