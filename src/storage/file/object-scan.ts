/**
 * The objects in a text that should be a JSON array and is not: merged by lines, or edited by hand. Commas and
 * brackets between them may be missing or too many.
 */
import { exactJsonIn, handwrittenJson, whyNoJson } from '../../contracts/json.ts'
import { isObject } from './is-object.ts'
import type { RecordBody } from '../../ports/record-store.ts'

export interface Scanned {
  objects: RecordBody[]
  /** What is neither an object nor a comma or bracket. */
  left_over: { text: string; reason: string }[]
}

/** Takes time in proportion to the text, however it is broken. */
export function scanObjects(text: string): Scanned {
  const found: Scanned = { objects: [], left_over: [] }
  const ends = endsOfObjects(text)
  let patience = LOOKS_MAX * text.length + PATIENCE_MIN
  for (let at = 0; at < text.length;) {
    if (BETWEEN.test(text.charAt(at))) {
      at += 1
      continue
    }
    const end = ends[at] ?? 0
    const { objects, reason, whole } = end === 0 ? NOTHING : objectsIn(text.slice(at, end))
    for (const object of objects) found.objects.push(object)
    if (!whole) patience -= Math.max(0, end - at)
    const next = whole ? end : patience < 0 ? text.length : startOfNext(text, at)
    if (reason !== null) found.left_over.push({ text: withoutEnd(text.slice(at, next)), reason })
    at = next
  }
  return found
}

/** What is broken may have others in it, which are looked at by themselves: every character so often at most. */
const LOOKS_MAX = 4
const PATIENCE_MIN = 1024 * 1024

/** False where a parser would pass over one of two ids in the same object, as a merge by lines may leave it. */
export function saysAllIds(text: string, value: unknown): boolean {
  const ids = (json: string) => json.match(/"id"\s*:/g)?.length ?? 0
  return ids(text) <= ids(JSON.stringify(value))
}

const BETWEEN = /[\s,[\]\uFEFF]/

interface Inside {
  objects: RecordBody[]
  /** Why the text is left over, as well or altogether. */
  reason: string | null
  /** Whether there is nothing else in it to be looked for. */
  whole: boolean
}

const NOTHING: Inside = { objects: [], reason: 'it is no JSON object', whole: false }

/** More than one where a merge by lines made one of several that share their first or last lines. */
function objectsIn(text: string): Inside {
  let value: unknown = null
  try {
    value = handwrittenJson(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) return { objects: [], reason: whyNoJson(error), whole: true }
  }
  if (isObject(value) && saysAllIds(text, value)) return { objects: [value], reason: null, whole: true }
  const pairs = pairsIn(text)?.pairs ?? null
  if (pairs === null) return NOTHING
  const groups = groupsOf(pairs)
  const first = pairs.slice(0, Math.max(0, pairs.findIndex(isId)))
  const last = groups.at(-1) ?? []
  // Each would say again what all share.
  if (groups.length * lengthOf([...first, ...last]) > SHARED_MAX * text.length) return NOTHING
  const objects = groups.map((own) => {
    const group = [...first, ...own]
    const keys = new Set(group.map(([key]) => key))
    // What they share at their end stands only behind the last.
    const shared = last.filter(([key]) => !keys.has(key))
    return exactJsonIn(`{${[...group, ...shared].map(([key, of]) => `${key}:${of}`).join()}}`)
  })
  if (!objects.every(isObject)) return NOTHING
  const reason = objects.length === 1 ? null : 'it says several ids; each was taken'
  return { objects, reason, whole: true }
}

/** So many times as long as the text itself may be what is made of it. */
const SHARED_MAX = 8

type Pair = [string, string]
const isId = ([key]: Pair) => key === '"id"'

/** From one id to the next; what stands in front of the first belongs to none. */
function groupsOf(pairs: readonly Pair[]): Pair[][] {
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

/**
 * Of the object that a text begins with, as they are written. Null where it does not even consist of names and values.
 */
export function pairsIn(text: string): { pairs: Pair[]; end: number } | null {
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

/** Behind the value that begins there; -1 where it has no end. */
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

/** Behind every object, at the place where it begins; 0 where it has no end. */
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
        // Whatever is open there has no end, and goes on no further than this line.
        open.length = 0
        const line = text.indexOf('\n', at)
        at = line === -1 ? text.length : line
      }
    }
  }
  return ends
}

/** Behind its closing quote. No string of JSON goes on over the end of a line. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length && text[at] !== '\n'; at += 1) {
    if (text[at] === '\\' && text[at + 1] !== '\n') at += 1
    else if (text[at] === '"') return at + 1
  }
  return -1
}

/** The next line that begins with an object, not further in than where something broken begins. */
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

/** A pattern for that would begin anew at every blank. */
function withoutEnd(text: string): string {
  let end = text.length
  while (end > 0 && /[\s,]/.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}
