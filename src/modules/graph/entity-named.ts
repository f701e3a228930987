/** Finds an entity by its id or name, and suggests a similar name if there is none. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { Ulid } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Entity } from '../../contracts/memory/graph.ts'
import { nearest } from '../../contracts/text/names.ts'
import { foldCase, sameText } from '../../contracts/text/same-text.ts'
import { canonicalIds } from '../memory/merge-duplicates.ts'

/** Finds an entity by id, or by a name that only one entity has. Throws `entity_unknown`. */
export function entityNamed(entities: readonly Entity[], named: string): Entity {
  const canonical_id = canonicalIds(entities).get(named) ?? named
  const found = entities.filter(({ id, name }) => id === canonical_id || sameText(name, named))
  const [one, ...others] = found
  if (one !== undefined && others.length === 0) return one
  if (one === undefined) {
    const names = entities.map(({ name }) => name)
    const similar = Ulid.safeParse(named).success ? null : nearest(named, likelyNames(named, names))
    throw new TurnbellError('entity_unknown', {
      detail: `There is no entity ${JSON.stringify(named)} here.`,
      ...(similar === null ? {} : { hint: `Did you mean ${JSON.stringify(similar)}?` }),
    })
  }
  const which = found.map(({ id, type }) => `${id} (${type})`).join(', ')
  throw new TurnbellError('entity_unknown', {
    detail: `${found.length} entities are called ${JSON.stringify(named)}: ${which}.`,
    hint: 'Pass the id of the entity.',
  })
}

/** Preselects at most `names_compared_max` names: those with the most shared words, then the most shared letters. */
function likelyNames(named: string, names: readonly string[]): readonly string[] {
  const most = LIMITS.names_compared_max
  if (names.length <= most) return names
  const asked = foldCase(named)
  const words = [...new Set(asked.split(WORD_END).filter((word) => word.length > 2))].slice(-WORDS_MAX)
  const by_rank = new Map<number, string[]>()
  for (const name of names) {
    const rank = rankOf(foldCase(name), asked, words)
    const alike = by_rank.get(rank) ?? []
    if (rank === 0 || alike.length === most) continue
    alike.push(name)
    by_rank.set(rank, alike)
  }
  const ranked = [...by_rank].sort(([a], [b]) => b - a)
  return ranked.flatMap(([, alike]) => alike).slice(0, most)
}

/**
 * A typo is mostly in one word, and the other words are shared. A name without shared words must have the same beginning
 * and about the same length. Returns 0 for names that are not worth comparing.
 */
function rankOf(name: string, asked: string, words: readonly string[]): number {
  const shared = words.filter((word) => name.includes(word)).length
  const begins = name.startsWith(asked.slice(0, 2)) && Math.abs(name.length - asked.length) <= 2
  return shared > 0 || begins ? shared * (asked.length + 1) + sharedEnds(name, asked) : 0
}

/** Returns the number of equal letters from the start and from the end; nearly all for a single typo. */
function sharedEnds(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  let start = 0
  while (start < length && a[start] === b[start]) start++
  let end = 0
  while (start + end < length && a.at(-1 - end) === b.at(-1 - end)) end++
  return start + end
}

/** The last words of a path are the most specific. */
const WORDS_MAX = 8
const WORD_END = /[^\p{L}\p{N}]+/u
