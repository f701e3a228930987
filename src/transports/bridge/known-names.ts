/**
 * Bounds of the command line that leave nothing because a name in them is misspelt. Only the hub knows the facades of
 * its plugins, so this is found out once it answers, and is a warning: the plugin may still come.
 */
import * as z from 'zod'
import { nearest } from '../../contracts/names.ts'

export interface NamedBounds {
  facades: readonly string[]
  facets: readonly string[]
}

/** As much of the hub's OpenAPI document as tells which facades there are. */
const Document = z.object({ tags: z.array(z.object({ name: z.string(), 'x-facet': z.string().optional() })) })

/** A line for each name that nothing in the hub goes by; none where the document is none. */
export function unknownNames({ facades, facets }: NamedBounds, document: unknown): string[] {
  const parsed = Document.safeParse(document)
  if (!parsed.success) return []
  const { tags } = parsed.data
  const there = tags.flatMap((tag) => tag['x-facet'] ?? [])
  return [
    ...strange(
      'facade',
      facades,
      tags.map(({ name }) => name),
    ),
    // A hub of before the facets were told.
    ...(there.length === 0 ? [] : strange('facet', facets, [...new Set(there)])),
  ]
}

function strange(flag: 'facade' | 'facet', names: readonly string[], known: readonly string[]): string[] {
  return names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = nearest(name, known)
      const guess = meant === null ? `it has ${known.join(', ')}` : `did you mean ${meant}?`
      return `--${flag} ${name}: this hub has no ${flag} of that name; ${guess}`
    })
}

/** Looks until it has been told once. `read` may fail as long as the hub is away. */
export function createNameCheck(needs: {
  named: NamedBounds
  read: () => Promise<unknown>
  warn: (line: string) => void
}): () => void {
  const { named, read, warn } = needs
  let looking = named.facades.length + named.facets.length === 0
  return () => {
    if (looking) return
    looking = true
    read().then(
      (document) => unknownNames(named, document).forEach(warn),
      () => void (looking = false),
    )
  }
}
