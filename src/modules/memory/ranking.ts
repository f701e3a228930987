/** How much of what is remembered has to do with some words. */
import type { Library } from './library.ts'
import type { Decision } from '../../contracts/decision.ts'
import type { Entry } from '../../contracts/entry.ts'
import type { Entity } from '../../contracts/graph.ts'

/** What can be searched: the kinds of records that have something to say. */
export interface Searchable {
  entry: Entry
  decision: Decision
  entity: Entity
}

/** How it is searched. */
export interface RankedBy {
  /** Only words were compared, because there is no model to compare meanings by; and why. */
  degraded: boolean
  degraded_reason?: string | undefined
}

export interface Ranking extends RankedBy {
  /** By id, over 0 and at most 1; what has nothing to do with the words is not in it. */
  scores: ReadonlyMap<string, number>
}

export interface MemorySearch {
  /** `items` are all that the library has of that kind, as its collection answered them. */
  rank<K extends keyof Searchable>(
    library: Library,
    kind: K,
    items: readonly Searchable[K][],
    query: string,
  ): Promise<Ranking>
  /** Something of it is new, and is embedded in the background where there is a model. */
  learn(library: Library): void
  /** As a search of now would be. */
  rankedBy(): RankedBy
}

/** The ones that have most to do with it, best first; of equals the newer one. */
export function best<T extends { id: string }>(
  items: readonly T[],
  scores: ReadonlyMap<string, number>,
  limit: number,
): { item: T; relevance: number }[] {
  return items
    .flatMap((item) => {
      const score = scores.get(item.id) ?? 0
      return score > 0 ? [{ item, relevance: rounded(score) }] : []
    })
    .sort((a, b) => b.relevance - a.relevance || (a.item.id < b.item.id ? 1 : -1))
    .slice(0, limit)
}

/** As many digits as say something. */
export function rounded(score: number): number {
  return Math.round(score * 10_000) / 10_000
}

/** How a search was ranked, for its answer. */
export function told({ degraded, degraded_reason }: RankedBy) {
  return { degraded, ...(degraded_reason === undefined ? {} : { degraded_reason }) }
}
