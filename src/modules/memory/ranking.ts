/** Interfaces and helpers for ranking memory records by relevance to a query. */
import type { ProjectMemory } from './project-memory.ts'
import type { Decision } from '../../contracts/memory/decision.ts'
import type { Entry } from '../../contracts/memory/entry.ts'
import type { Entity } from '../../contracts/memory/graph.ts'

/** Kinds of records that can be searched. */
export interface Searchable {
  entry: Entry
  decision: Decision
  entity: Entity
}

/** How records are compared with a query. */
export interface SearchMode {
  /** Only keywords are compared, because no embedding model is available; with the reason. */
  degraded: boolean
  degraded_reason?: string | undefined
}

export interface Ranking extends SearchMode {
  /** Relevance by id, above 0 and at most 1; irrelevant records are left out. */
  scores: ReadonlyMap<string, number>
}

export interface MemorySearch {
  /** `items` must be the complete list of that kind, as the memory returned it. */
  rank<K extends keyof Searchable>(
    memory: ProjectMemory,
    kind: K,
    items: readonly Searchable[K][],
    query: string,
  ): Promise<Ranking>
  /** Embeds new records in the background, where a model is available. */
  learn(memory: ProjectMemory): void
  /** Mode of the next search. */
  mode(): SearchMode
}

/** Returns the most relevant items, best first; of equal ones the newer first. */
export function topRanked<T extends { id: string }>(
  items: readonly T[],
  scores: ReadonlyMap<string, number>,
  limit: number,
): { item: T; relevance: number }[] {
  return items
    .flatMap((item) => {
      const score = scores.get(item.id) ?? 0
      return score > 0 ? [{ item, relevance: roundScore(score) }] : []
    })
    .sort((a, b) => b.relevance - a.relevance || (a.item.id < b.item.id ? 1 : -1))
    .slice(0, limit)
}

/** Rounds to four digits; more are not significant. */
export function roundScore(score: number): number {
  return Math.round(score * 10_000) / 10_000
}

/** Fields about the search mode in an answer. */
export function modeFields({ degraded, degraded_reason }: SearchMode) {
  return { degraded, ...(degraded_reason === undefined ? {} : { degraded_reason }) }
}
