/**
 * Warns about bounds of the command line that name an unknown facade or facet. Only the hub knows its
 * plugins' facades, so the check runs once the hub responds. It only warns, because the plugin may be added
 * later.
 */
import * as z from 'zod'
import { nearest } from '../contracts/text/names.ts'

export interface RequestedBounds {
  facades: readonly string[]
  facets: readonly string[]
}

/** The part of the hub's OpenAPI document that lists its facades. */
const Document = z.object({ tags: z.array(z.object({ name: z.string(), 'x-facet': z.string().optional() })) })

/** Returns one line for each unknown name; none if the document is invalid. */
export function unknownNames({ facades, facets }: RequestedBounds, document: unknown): string[] {
  const parsed = Document.safeParse(document)
  if (!parsed.success) return []
  const { tags } = parsed.data
  const known_facets = tags.flatMap((tag) => tag['x-facet'] ?? [])
  return [
    ...unknown(
      'facade',
      facades,
      tags.map(({ name }) => name),
    ),
    // Older hubs do not list their facets.
    ...(known_facets.length === 0 ? [] : unknown('facet', facets, [...new Set(known_facets)])),
  ]
}

function unknown(flag: 'facade' | 'facet', names: readonly string[], known: readonly string[]): string[] {
  return names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = nearest(name, known)
      const guess = meant === null ? `it has ${known.join(', ')}` : `did you mean ${meant}?`
      return `--${flag} ${name}: this hub has no such ${flag}; ${guess}`
    })
}

/**
 * Returns a function that runs the check until it has succeeded once. `read` may reject while the hub is
 * away.
 */
export function createBoundCheck(deps: {
  bounds: RequestedBounds
  read: () => Promise<unknown>
  warn: (line: string) => void
}): () => void {
  const { bounds, read, warn } = deps
  let checked = bounds.facades.length + bounds.facets.length === 0
  return () => {
    if (checked) return
    checked = true
    read().then(
      (document) => unknownNames(bounds, document).forEach(warn),
      () => void (checked = false),
    )
  }
}
