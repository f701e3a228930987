/**
 * Fills a token budget with pieces, the most valuable first.
 *
 * Tokens are estimated from the characters of the whole response as JSON. A piece that does not fit is tried in shorter
 * forms and then left out; a later, smaller one may still fit.
 */
import { LIMITS } from '../../contracts/limits/limits.ts'

export interface Piece<S extends string> {
  /** Name of its list. */
  section: S
  score: number
  /** Lower bound of its characters as JSON, so that most pieces that do not fit are not written. */
  least: number
  /** Returns its form with texts of at most `length` characters. */
  write: (length: number) => object
}

export interface Filled<S extends string> {
  lists: Record<S, object[]>
  left_out: number
}

/**
 * Takes the pieces in order, each with the longest texts of `lengths` that fit. `characters` is the budget of all lists
 * without their brackets.
 */
export function fill<S extends string>(
  sections: readonly S[],
  pieces: readonly Piece<S>[],
  { characters, lengths }: { characters: number; lengths: readonly number[] },
): Filled<S> {
  const lists = Object.fromEntries(sections.map((section) => [section, []])) as unknown as Record<S, object[]>
  let left = characters
  let left_out = 0
  for (const piece of pieces) {
    const { section, least } = piece
    const comma = lists[section].length > 0 ? 1 : 0
    const fitting = least + comma > left ? null : longestFitting(piece, lengths, left - comma)
    if (fitting === null) {
      left_out += 1
      continue
    }
    left -= fitting.length + comma
    lists[section].push(fitting.form)
  }
  return { lists, left_out }
}

function longestFitting(
  { write }: Pick<Piece<never>, 'write'>,
  lengths: readonly number[],
  room: number,
): { form: object; length: number } | null {
  for (const text_length of lengths) {
    const form = write(text_length)
    const { length } = JSON.stringify(form)
    if (length <= room) return { form, length }
  }
  return null
}

export function tokensOf(text: string): number {
  return Math.ceil(text.length / LIMITS.characters_per_token)
}
