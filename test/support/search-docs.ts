/** Builds documents for search tests. */
import type { SearchDoc } from '../../src/modules/search/search-doc.ts'

export function searchDoc(id: string, title: string, more: Partial<SearchDoc> = {}): SearchDoc {
  return { id, title, body: '', also: '', ...more }
}

/** Returns the names, best first. */
export function ranked(scores: ReadonlyMap<string, number>): string[] {
  return [...scores].sort(([, a], [, b]) => b - a).map(([id]) => id)
}
