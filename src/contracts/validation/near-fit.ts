/**
 * Conversion of values that small models write as text: `{"limit": "5"}`, `{"peek": "true"}`, `{"ids": "[1]"}`,
 * `{"topic": null}`. A value is converted only if the schema does not accept the text.
 */
import type { z } from 'zod'
import { jsonInParams } from './json.ts'
import { isExact } from './json-numbers.ts'

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

export interface LenientParse<T> {
  parsed: z.ZodSafeParseResult<T>
  /** The parameters of the last attempt. */
  params: unknown
  /** One sentence for each converted value: `limit: "5" was taken as 5`. */
  taken: string[]
}

/** A list written as text may contain numbers written as text, and so on. */
const ROUNDS_MAX = 4
const SHOWN_LENGTH_MAX = 60

/** Parses with `safeParse`, converts rejected values and parses again. `params` is not modified. */
export function parseLeniently<T>(
  safeParse: (params: unknown) => z.ZodSafeParseResult<T>,
  params: unknown,
): LenientParse<T> {
  let fit: LenientParse<T> = { parsed: safeParse(params), params, taken: [] }
  for (let round = 0; round < ROUNDS_MAX && !fit.parsed.success; round++) {
    const next = convert(fit.params, fit.parsed.error.issues)
    if (next === null) break
    const parsed = safeParse(next.params)
    const missing = new Set(parsed.success ? [] : parsed.error.issues.map(({ path }) => path.join('.')))
    // Null in a required field is reported as null.
    if (next.absent.some((path) => missing.has(path))) break
    fit = { parsed, params: next.params, taken: [...fit.taken, ...next.conversions] }
  }
  return fit
}

interface Conversion {
  params: unknown
  conversions: string[]
  absent: string[]
}

function convert(params: unknown, issues: readonly Issue[]): Conversion | null {
  const copy = deepCopy(params)
  const next: Conversion = { params: copy, conversions: [], absent: [] }
  for (const issue of issues) {
    const types = typesOf(issue)
    const holder = types.length === 0 ? null : containerAt(copy, issue.path)
    if (holder === null) continue
    const name = issue.path.at(-1) as string
    const value = holder[name]
    const path = issue.path.map(String).join('.')
    if (value === null && !Array.isArray(holder)) {
      delete holder[name]
      next.absent.push(path)
      next.conversions.push(`${path}: null was taken as absent`)
    } else if (typeof value === 'string') {
      const meant = convertText(value, types)
      if (meant === undefined) continue
      holder[name] = meant
      next.conversions.push(`${path}: ${toText(value)} was taken as ${toText(meant)}`)
    }
  }
  return next.conversions.length === 0 ? null : next
}

/** Returns the accepted types; empty if the issue is not about the type, or if text is accepted. */
function typesOf(issue: Issue): string[] {
  if (issue.code === 'invalid_type') return [issue.expected]
  // An enum: a different text cannot mean one of its values.
  if (issue.code === 'invalid_value') return ['value']
  if (issue.code !== 'invalid_union') return []
  const types = issue.errors.map((errors) => {
    const [first, ...more] = errors
    return first !== undefined && more.length === 0 && first.path.length === 0 ? typesOf(first) : []
  })
  return types.some((some) => some.length === 0) ? [] : types.flat()
}

/** Returns undefined unless the text clearly represents one of the types. */
function convertText(text: string, types: readonly string[]): unknown {
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
    return jsonInParams(text)
  } catch {
    return undefined
  }
}

/** Returns the object or list that contains the value at the path; null for the root and for an invalid path. */
function containerAt(params: unknown, path: Path): Record<string, unknown> | null {
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

/** Copies objects and lists. Other values are shared, because values from a plugin may not be JSON. */
function deepCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(deepCopy)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, deepCopy(one)]))
}

function toText(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text
}

/** Parses a stored record. Null in an optional field counts as absent, because other programs write it. */
export function parseRecord<T>(
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
