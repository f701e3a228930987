/**
 * What small models write in place of a number, a boolean, a list or nothing: `{"limit": "5"}`, `{"peek": "true"}`,
 * `{"ids": "[1]"}`, `{"topic": null}`. Taken only where the schema cannot have meant the text itself.
 */
import type { z } from 'zod'
import { exactJson } from './json.ts'
import { isExact } from './json-numbers.ts'

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

export interface NearFit<T> {
  parsed: z.ZodSafeParseResult<T>
  /** The params that were parsed last. */
  params: unknown
  /** One sentence for each value that was taken as another one: `limit: "5" was taken as 5`. */
  taken: string[]
}

/** A list as text may hold numbers as text, and so on. */
const ROUNDS_MAX = 4
const SHOWN_LENGTH_MAX = 60

/** Parses with `safeParse`; changes what nearly fits, and parses again. `params` itself is never changed. */
export function nearlyFitted<T>(
  safeParse: (params: unknown) => z.ZodSafeParseResult<T>,
  params: unknown,
): NearFit<T> {
  let fit: NearFit<T> = { parsed: safeParse(params), params, taken: [] }
  for (let round = 0; round < ROUNDS_MAX && !fit.parsed.success; round++) {
    const next = changed(fit.params, fit.parsed.error.issues)
    if (next === null) break
    const parsed = safeParse(next.params)
    const missing = new Set(parsed.success ? [] : parsed.error.issues.map(({ path }) => path.join('.')))
    // Null in a field that must be there is told as null.
    if (next.absent.some((path) => missing.has(path))) break
    fit = { parsed, params: next.params, taken: [...fit.taken, ...next.taken] }
  }
  return fit
}

interface Changed {
  params: unknown
  taken: string[]
  absent: string[]
}

function changed(params: unknown, issues: readonly Issue[]): Changed | null {
  const copy = copied(params)
  const next: Changed = { params: copy, taken: [], absent: [] }
  for (const issue of issues) {
    const types = typesOf(issue)
    const holder = types.length === 0 ? null : holderOf(copy, issue.path)
    if (holder === null) continue
    const name = issue.path.at(-1) as string
    const value = holder[name]
    const path = issue.path.map(String).join('.')
    if (value === null && !Array.isArray(holder)) {
      delete holder[name]
      next.absent.push(path)
      next.taken.push(`${path}: null was taken as absent`)
    } else if (typeof value === 'string') {
      const meant = meaningOf(value, types)
      if (meant === undefined) continue
      holder[name] = meant
      next.taken.push(`${path}: ${shown(value)} was taken as ${shown(meant)}`)
    }
  }
  return next.taken.length === 0 ? null : next
}

/** The types that would have been accepted; empty if something else than the type is wrong, or a text was allowed. */
function typesOf(issue: Issue): string[] {
  if (issue.code === 'invalid_type') return [issue.expected]
  // One of a few values: no other text stands for one of them.
  if (issue.code === 'invalid_value') return ['value']
  if (issue.code !== 'invalid_union') return []
  const types = issue.errors.map((errors) => {
    const [first, ...more] = errors
    return first !== undefined && more.length === 0 && first.path.length === 0 ? typesOf(first) : []
  })
  return types.some((some) => some.length === 0) ? [] : types.flat()
}

/** Undefined if the text stands for none of the types beyond doubt. */
function meaningOf(text: string, types: readonly string[]): unknown {
  if (types.includes('string')) return undefined
  if (types.includes('boolean') && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  if ((types.includes('number') || types.includes('int')) && NUMBER.test(text) && isExact(text))
    return Number(text)
  if (types.includes('array') && text.trimStart().startsWith('[')) return jsonOf(text)
  if (types.some((type) => type === 'object' || type === 'record') && text.trimStart().startsWith('{'))
    return jsonOf(text)
  return undefined
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function jsonOf(text: string): unknown {
  try {
    return exactJson(text)
  } catch {
    return undefined
  }
}

/** The object or list that holds the value at the path; null for the whole, and where the path leads nowhere. */
function holderOf(params: unknown, path: Path): Record<string, unknown> | null {
  let holder: unknown = params
  for (const step of path.slice(0, -1)) {
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, step)) return null
    holder = (holder as Record<PropertyKey, unknown>)[step]
  }
  const name = path.at(-1)
  const holds =
    typeof holder === 'object' && holder !== null && name !== undefined && Object.hasOwn(holder, name)
  return holds ? (holder as Record<string, unknown>) : null
}

/** Objects and lists anew, all else as it is: what a plugin passes need not be JSON. */
function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copied(one)]))
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text
}

/**
 * Parses a stored record. Null in an optional field counts as absent: other programs write it there, and a file that is
 * only read is not changed for it.
 */
export function parsedRecord<T>(
  schema: z.ZodType<T>,
  body: Readonly<Record<string, unknown>>,
): z.ZodSafeParseResult<T> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed
  const nulls = new Set(
    parsed.error.issues.map(({ path }) => path[0]).filter((name) => body[String(name)] === null),
  )
  if (nulls.size === 0) return parsed
  const again = schema.safeParse(
    Object.fromEntries(Object.entries(body).filter(([name]) => !nulls.has(name))),
  )
  return again.success ? again : parsed
}
