/**
 * As much as fits into a budget, what is worth most first.
 *
 * Tokens are counted by the rule of thumb that holds everywhere here, over the whole answer as JSON. A piece that
 * does not fit is tried in fewer words, and then left out; a later, smaller one may still fit. So a piece is missing
 * only where there was no room for it after all that is worth more.
 */
import { LIMITS } from '../../contracts/limits.ts'

export interface Piece<S extends string> {
  /** The list that it goes into. */
  section: S
  score: number
  /** No form of it has fewer characters as JSON; so most of what has no room is never written out. */
  least: number
  /** With texts that are at most so long. */
  write: (length: number) => object
}

export interface Filled<S extends string> {
  lists: Record<S, object[]>
  left_out: number
}

/**
 * Pieces are taken in the order they have, each with the longest texts of `lengths` that have room. `characters` is
 * what the lists may take together, brackets left out.
 */
export function fill<S extends string>(
  sections: readonly S[],
  pieces: readonly Piece<S>[],
  { characters, lengths }: { characters: number; lengths: readonly number[] },
  shown: (form: object) => object,
): Filled<S> {
  const lists = Object.fromEntries(sections.map((section) => [section, []])) as unknown as Record<S, object[]>
  let left = characters
  let left_out = 0
  for (const piece of pieces) {
    const { section, least } = piece
    const comma = lists[section].length > 0 ? 1 : 0
    const fitting = least + comma > left ? null : longestFitting(piece, lengths, left - comma, shown)
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
  shown: (form: object) => object,
): { form: object; length: number } | null {
  for (const most of lengths) {
    const form = shown(write(most))
    const { length } = JSON.stringify(form)
    if (length <= room) return { form, length }
  }
  return null
}

export function tokensOf(text: string): number {
  return Math.ceil(text.length / LIMITS.characters_per_token)
}
