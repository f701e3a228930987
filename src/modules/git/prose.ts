/**
 * What people wrote about their commits, made harmless for a model that reads it. Lines of files and
 * names of paths are left as they are: they are to be found again, and code is full of what looks like a tag.
 */
import { defangText } from '../signals/defang.ts'
import type { Caller } from '../../contracts/token.ts'

const PROSE: ReadonlySet<string> = new Set(['subject', 'author_name', 'author_email', 'note'])

/** People see what was written. */
export function proseShownTo<T>(caller: Caller, answer: T): T {
  return caller.kind === 'agent' ? (harmless(answer) as T) : answer
}

function harmless(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(harmless)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      PROSE.has(key) && typeof inner === 'string' ? defangText(inner) : harmless(inner),
    ]),
  )
}
