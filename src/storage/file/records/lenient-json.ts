/**
 * Finds the objects in a text that should be a JSON array but was merged by lines or edited by hand. Commas and
 * brackets between the objects may be missing or superfluous.
 */
import { parseExactJsonOrNull, handwrittenJson, jsonErrorText } from '../../../contracts/validation/json.ts'
import type { Json } from '../../../contracts/ids.ts'
import { isObject } from '../../../contracts/validation/is-object.ts'
import type { RecordBody } from '../../../ports/record-store.ts'

export interface ScanResult {
  objects: RecordBody[]
  /** Text that is neither an object nor a comma or bracket. */
  unparsed: { text: string; reason: string }[]
}

/** Runs in time proportional to the length of the text, however damaged it is. */
export function scanObjects(text: string): ScanResult {
  const found: ScanResult = { objects: [], unparsed: [] }
  const ends = endsOfObjects(text)
  let rescan_budget = RESCAN_FACTOR_MAX * text.length + RESCAN_CHARS_MIN
  for (let at = 0; at < text.length;) {
    if (BETWEEN.test(text.charAt(at))) {
      at += 1
      continue
    }
    const end = ends[at] ?? 0
    const { objects, reason, whole } = end === 0 ? NO_OBJECT : parseSpan(text.slice(at, end))
    for (const object of objects) found.objects.push(object)
    if (!whole) rescan_budget -= Math.max(0, end - at)
    const next = whole ? end : rescan_budget < 0 ? text.length : startOfNext(text, at)
    if (reason !== null) found.unparsed.push({ text: trimEnd(text.slice(at, next)), reason })
    at = next
  }
  return found
}

/** Maximum number of rescans per character, because a damaged object may contain valid ones. */
const RESCAN_FACTOR_MAX = 4
const RESCAN_CHARS_MIN = 1024 * 1024

/** Returns false if the parsed value lost an id, because an object had two after a merge by lines. */
export function hasAllIds(text: string, value: unknown): boolean {
  const ids = (json: string) => json.match(/"id"\s*:/g)?.length ?? 0
  return ids(text) <= ids(JSON.stringify(value))
}

const BETWEEN = /[\s,[\]\uFEFF]/

interface ParsedSpan {
  objects: RecordBody[]
  /** Why the text is reported as unparsed; null if it is not. */
  reason: string | null
  /** True if the span needs no further search. */
  whole: boolean
}

const NO_OBJECT: ParsedSpan = { objects: [], reason: 'the text is not a JSON object', whole: false }

/** Parses one span. Returns several objects if a merge by lines joined objects with common first or last lines. */
function parseSpan(text: string): ParsedSpan {
  let value: unknown = null
  try {
    value = handwrittenJson(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) return { objects: [], reason: jsonErrorText(error), whole: true }
  }
  if (isObject<Json>(value) && hasAllIds(text, value)) return { objects: [value], reason: null, whole: true }
  const pairs = parsePairs(text)?.pairs ?? null
  if (pairs === null) return NO_OBJECT
  const groups = groupById(pairs)
  const first = pairs.slice(0, Math.max(0, pairs.findIndex(isId)))
  const last = groups.at(-1) ?? []
  // Copying the shared fields into every object would use too much memory.
  if (groups.length * lengthOf([...first, ...last]) > GROWTH_FACTOR_MAX * text.length) return NO_OBJECT
  const objects = groups.map((own) => {
    const group = [...first, ...own]
    const keys = new Set(group.map(([key]) => key))
    // Shared fields at the end occur only after the last object.
    const shared = last.filter(([key]) => !keys.has(key))
    return parseExactJsonOrNull(`{${[...group, ...shared].map(([key, of]) => `${key}:${of}`).join()}}`)
  })
  if (!objects.every(isObject<Json>)) return NO_OBJECT
  const reason = objects.length === 1 ? null : 'the text has several ids; each became an object'
  return { objects, reason, whole: true }
}

/** Maximum size of the resulting objects, in multiples of the text's length. */
const GROWTH_FACTOR_MAX = 8

type Pair = [string, string]
const isId = ([key]: Pair) => key === '"id"'

/** Splits pairs at each id; pairs before the first id belong to no group. */
function groupById(pairs: readonly Pair[]): Pair[][] {
  const groups: Pair[][] = []
  for (const pair of pairs.slice(Math.max(0, pairs.findIndex(isId)))) {
    if (isId(pair) || groups.length === 0) groups.push([])
    groups.at(-1)?.push(pair)
  }
  return groups
}

function lengthOf(pairs: readonly Pair[]): number {
  return pairs.reduce((sum, [key, of]) => sum + key.length + of.length, 0)
}

/** Returns the pairs of the object at the start of a text, as written; null if it does not consist of names and values. */
export function parsePairs(text: string): { pairs: Pair[]; end: number } | null {
  const pairs: Pair[] = []
  for (let at = 1; ;) {
    while (/[\s,]/.test(text.charAt(at))) at += 1
    if (text[at] === '}') return pairs.length === 0 ? null : { pairs, end: at + 1 }
    const end = text[at] === '"' ? endOfValue(text, at) : -1
    const colon = end === -1 ? null : /^\s*:\s*/.exec(text.slice(end))
    if (colon === null) return null
    const from = end + colon[0].length
    const to = endOfValue(text, from)
    if (to === -1) return null
    pairs.push([text.slice(at, end), text.slice(from, to)])
    at = to
  }
}

/** Returns the offset after the value that starts here; -1 if it has no end. */
function endOfValue(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (character === '"') {
      at = endOfString(text, at) - 1
      if (at < 0) return -1
    } else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    else if (depth === 0) {
      const [word] = /^[\w.+-]+/.exec(text.slice(at, at + WORD_MAX)) ?? ['']
      return word === '' ? -1 : at + word.length
    }
    if (depth === 0) return at + 1
    if (depth < 0) return -1
  }
  return -1
}

const WORD_MAX = 64

/** Returns, at the start offset of each object, the offset after it; 0 if it has no end. */
function endsOfObjects(text: string): Int32Array {
  const ends = new Int32Array(text.length)
  const open: number[] = []
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (character === '{' || character === '[') open.push(at)
    else if (character === '}' || character === ']') {
      const start = open.pop()
      if (start !== undefined && text[start] === '{') ends[start] = at + 1
    } else if (character === '"') {
      const end = endOfString(text, at)
      if (end !== -1) at = end - 1
      else {
        // An unterminated string ends all open objects at the end of its line.
        open.length = 0
        const line = text.indexOf('\n', at)
        at = line === -1 ? text.length : line
      }
    }
  }
  return ends
}

/** Returns the offset after the closing quote; -1 if the string has none on its line. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length && text[at] !== '\n'; at += 1) {
    if (text[at] === '\\' && text[at + 1] !== '\n') at += 1
    else if (text[at] === '"') return at + 1
  }
  return -1
}

/** Returns the start of the next object at the start of a line, indented no deeper than the damaged one. */
function startOfNext(text: string, broken: number): number {
  const indent = Math.max(1, broken - (text.lastIndexOf('\n', broken - 1) + 1))
  for (let line = text.indexOf('\n', broken); line !== -1; line = text.indexOf('\n', line + 1)) {
    let at = line + 1
    while (INDENT.test(text.charAt(at))) at += 1
    if (text[at] === '{' && at - line - 1 <= indent) return at
  }
  return text.length
}

const INDENT = /[^\S\n]|,/

/** Trims trailing blanks and commas. A regular expression would restart at every blank. */
function trimEnd(text: string): string {
  let end = text.length
  while (end > 0 && /[\s,]/.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}
