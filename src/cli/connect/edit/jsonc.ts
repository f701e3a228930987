/**
 * Inserts and removes single entries in a user's JSON file with comments, at positions from the parser. Every other byte
 * stays unchanged.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  createScanner,
  findNodeAtLocation,
  getNodeValue,
  parseTree,
  printParseErrorCode,
  type Node,
  type ParseError,
} from 'jsonc-parser'
import * as z from 'zod'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { Json } from '../../../contracts/ids.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { Draft, type Splice } from './text-edits.ts'
import { entryConflict } from '../conflict-errors.ts'
import { beginsLine, endOfLine, indentAt, isBlank, lineEnd, lineStart, placeOf, withoutMark } from './text.ts'

const Path = z.array(z.string()).min(1)
const FIX_FILE = 'Fix the file, then try again. Nothing was changed.'

/** One key with its value. With `in_list`, one element of the list at the key. */
export const Entry = z.strictObject({
  at: Path,
  value: Json,
  in_list: z.boolean().optional(),
  /** A string instead of the map around the key is shorthand for a map with this key. */
  short: z.string().optional(),
})
export type Entry = z.infer<typeof Entry>

export interface Put {
  text: string
  splices: Splice[]
  /** The entries that were inserted, because they did not exist before. */
  own: Entry[]
  /** Maps and lists that were created for them. */
  made: string[][]
}

/** Throws `config_invalid` for an invalid file, and `connection_taken` for an entry with another value. */
export function putEntries(file: string, text: string, entries: readonly Entry[]): Put {
  if (isBlank(text)) return intoNothing(text, entries)
  const draft = new Draft(text)
  const own: Entry[] = []
  const made: string[][] = []
  for (const entry of entries) {
    if (isIn(file, draft.text, entry)) continue
    made.push(...putOne(file, draft, entry))
    own.push(entry)
  }
  for (const entry of entries) if (!isIn(file, draft.text, entry)) throw cannotChange(file, text, entry)
  return { text: draft.text, splices: draft.splices, own, made }
}

/**
 * Removes entries wherever they are now, and the maps and lists that were created for them if they are empty. Removes the
 * value at the key of an entry also if the person changed it, and an element that still starts a program of turnbell.
 */
export function takeEntries(file: string, text: string, { own, made }: Pick<Put, 'own' | 'made'>): string {
  if (isBlank(text)) return text
  const draft = new Draft(text)
  for (const entry of [...own].reverse()) {
    const node = nodeAt(file, draft.text, entry.at)
    if (node === undefined) continue
    if (entry.in_list !== true) takeNode(draft, node)
    else if (node.type === 'array') takeElement(file, draft, entry)
  }
  for (const path of [...made].reverse()) {
    const node = nodeAt(file, draft.text, path)
    if (node !== undefined && isHollow(draft.text, node)) takeNode(draft, node)
  }
  rootOf(file, draft.text)
  return draft.text
}

function takeElement(file: string, draft: Draft, { at, value }: Entry): void {
  const list = () => nodeAt(file, draft.text, at)
  const same = list()?.children?.find((child) => isDeepStrictEqual(valueOf(child), value))
  if (same !== undefined) takeNode(draft, same)
  const program = typeof value === 'string' ? undefined : programIn(value)
  if (program === undefined) return
  for (let node = elementWith(list(), program); node !== undefined; node = elementWith(list(), program))
    takeNode(draft, node)
}

/** Returns the first string of an entry with a path: the command line of a hook, or the file of a plugin. */
function programIn(value: Json): string | undefined {
  if (typeof value === 'string') return /[/\\]/.test(value) ? value : undefined
  const inner = typeof value === 'object' && value !== null ? Object.values(value) : []
  return inner.map(programIn).find((program) => program !== undefined)
}

/** Returns the element that contains this word. If it also has elements of the person, returns only the inner one. */
function elementWith(list: Node | undefined, word: string): Node | undefined {
  const element = list?.children?.find((child) => contains(child, word))
  const inner =
    element?.type === 'object' ? element.children?.find((property) => contains(property, word)) : undefined
  const held = inner?.children?.[1]
  return held?.type === 'array' && (held.children?.length ?? 0) > 1 ? elementWith(held, word) : element
}

const contains = (node: Node, word: string): boolean =>
  node.value === word || (node.children?.some((child) => contains(child, word)) ?? false)

/** Returns true if every entry has its value. */
export function holdsEntries(file: string, text: string, entries: readonly Entry[]): boolean {
  return !isBlank(text) && entries.every((entry) => isIn(file, text, entry))
}

/** Returns true for a file that contains only its brackets. */
export function isHollowFile(file: string, text: string): boolean {
  return isBlank(text) || isHollow(text.trim(), rootOf(file, text.trim()))
}

/** Compares the value that the client reads: the last of duplicate keys counts. */
function isIn(file: string, text: string, { at, value, in_list }: Entry): boolean {
  let current = valueOf(rootOf(file, text))
  for (const key of at) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return false
    current = (current as Record<string, unknown>)[key]
  }
  if (in_list !== true) return isDeepStrictEqual(current, value)
  return Array.isArray(current) && current.some((element) => isDeepStrictEqual(element, value))
}

function intoNothing(text: string, entries: readonly Entry[]): Put {
  const whole: Record<string, unknown> = {}
  for (const { at, value, in_list } of entries) {
    let map = whole
    for (const key of at.slice(0, -1)) map = (map[key] ??= {}) as Record<string, unknown>
    const last = at.at(-1) as string
    if (in_list === true) map[last] = [...((map[last] ?? []) as unknown[]), value]
    else map[last] = value
  }
  const draft = new Draft(text)
  draft.cut(text.length, 0, `${JSON.stringify(whole, null, 2)}\n`)
  const made = entries.flatMap(({ at, in_list }) => above(in_list === true ? [...at, ''] : at, 0))
  return { text: draft.text, splices: draft.splices, own: [...entries], made: unique(made) }
}

/** Returns the paths of all parents of the key below `depth` keys, the outermost first. */
function above(at: readonly string[], depth: number): string[][] {
  return at.slice(0, -1).flatMap((_, index) => (index < depth ? [] : [at.slice(0, index + 1)]))
}

const unique = (paths: string[][]) =>
  paths.filter((path, index) => paths.findIndex((other) => isDeepStrictEqual(other, path)) === index)

/** Inserts an entry. Returns the paths of the maps and lists that were created for it. */
function putOne(file: string, draft: Draft, entry: Entry): string[][] {
  const { at, value, in_list = false } = entry
  let node = rootOf(file, draft.text)
  let depth = 0
  for (; depth < at.length; depth++) {
    const child = node.type === 'object' ? findNodeAtLocation(node, [at[depth] as string]) : undefined
    if (child === undefined) break
    node = child
  }
  const rest = at.slice(depth)
  if (entry.short !== undefined && rest.length === 1 && node.type === 'string') {
    widen(draft, node, entry.short)
    return putOne(file, draft, entry)
  }
  if (rest.length === 0 && !in_list)
    throw entryConflict('entry', `${file}, ${placeIn(draft, node)}: ${at.join('.')}`)
  const expected = rest.length === 0 ? 'array' : 'object'
  if (node.type !== expected) throw isOther(file, draft, node, at.slice(0, depth), expected)
  const [key, ...inner] = rest
  const held = inner.reduceRight<Json>(
    (nested, name) => ({ [name]: nested }),
    in_list && rest.length > 0 ? [value] : value,
  )
  insert(draft, node, key, held)
  return above(in_list ? [...at, ''] : at, depth)
}

/** Replaces `"ask"` by the equivalent `{ "*": "ask" }`. */
function widen(draft: Draft, { offset, length }: Node, key: string): void {
  const word = draft.text.slice(offset, offset + length)
  draft.cut(offset, length, `{ ${JSON.stringify(key)}: ${word} }`)
}

/** Inserts the last child of a map (with a key) or of a list. Comments stay next to their elements. */
function insert(draft: Draft, node: Node, key: string | undefined, value: Json): void {
  const { text } = draft
  const eol = endOfLine(text)
  const unit = unitOf(text)
  const close = node.offset + node.length - 1
  const last = node.children?.at(-1)
  const end = last === undefined ? node.offset + 1 : last.offset + last.length
  const shown = (indent: string | null) => {
    const json = indent === null ? JSON.stringify(value) : JSON.stringify(value, null, unit)
    const name = key === undefined ? '' : `${JSON.stringify(key)}: `
    return name + (indent === null ? json : json.split('\n').join(eol + indent))
  }
  if (
    last !== undefined &&
    !text.slice(last.offset, close).includes('\n') &&
    !beginsLine(text, last.offset)
  ) {
    draft.cut(end, 0, `, ${shown(null)}`)
    return
  }
  const outer = indentAt(text, beginsLine(text, close) ? close : node.offset)
  const indent =
    last !== undefined && beginsLine(text, last.offset) ? indentAt(text, last.offset) : outer + unit
  const comma = last !== undefined && commaAfter(text, end) !== null
  const line = `${indent}${shown(indent)}${comma ? ',' : ''}${eol}`
  const own_line = beginsLine(text, close) && text.slice(end, close).includes('\n')
  if (own_line) draft.cut(lineStart(text, close), 0, line)
  else draft.cut(close, 0, eol + line + outer)
  if (last !== undefined && !comma) draft.cut(end, 0, ',')
}

/** Removes a node with its comma, and with its line if the line has no other content. */
function takeNode(draft: Draft, value: Node): void {
  const { text } = draft
  const node = value.parent?.type === 'property' ? value.parent : value
  const end = node.offset + node.length
  const siblings = node.parent?.children ?? []
  const before = siblings[siblings.indexOf(node) - 1]
  const own_comma = commaAfter(text, end)
  const comma = own_comma ?? (before === undefined ? null : commaAfter(text, before.offset + before.length))
  const [start, stop] =
    beginsLine(text, node.offset) && isBlank(text.slice(end, lineEnd(text, end)).replace(',', ''))
      ? [lineStart(text, node.offset), lineEnd(text, end)]
      : own_comma === null
        ? [node.offset - blanksBefore(text, node.offset), end]
        : [node.offset, end]
  // From the end to the beginning, so that a cut does not move the next one.
  if (comma !== null && comma >= stop) draft.cut(comma, 1, '')
  const gap = own_comma === null || stop > end ? 0 : (/^[ \t]*/.exec(draft.text.slice(stop))?.[0].length ?? 0)
  draft.cut(start, stop + gap - start, '')
  if (comma !== null && comma < start) draft.cut(comma, 1, '')
}

const blanksBefore = (text: string, at: number) => /[ \t]*$/.exec(text.slice(0, at))?.[0].length ?? 0

/** Returns the position of the comma after `at` if only blanks and comments are between. */
function commaAfter(text: string, at: number): number | null {
  const scanner = createScanner(text, true)
  scanner.setPosition(at)
  scanner.scan()
  const token_at = scanner.getTokenOffset()
  return text[token_at] === ',' ? token_at : null
}

function isHollow(text: string, node: Node): boolean {
  return (
    (node.type === 'object' || node.type === 'array') &&
    isBlank(text.slice(node.offset + 1, node.offset + node.length - 1))
  )
}

/** Returns plain objects. Those of the parser have no prototype and would not compare as equal. */
const valueOf = (node: Node): unknown => structuredClone(getNodeValue(node))

/** Returns the indentation of the file's first indented line. */
function unitOf(text: string): string {
  return /\n([ \t]+)["\]}[{]/.exec(text)?.[1] ?? '  '
}

function nodeAt(file: string, text: string, at: readonly string[]): Node | undefined {
  return findNodeAtLocation(rootOf(file, text), [...at])
}

function rootOf(file: string, text: string): Node {
  const errors: ParseError[] = []
  const tooDeep = placeTooDeep(text)
  if (tooDeep !== null) {
    throw new TurnbellError('config_invalid', {
      detail: `${file}, ${placeOf(text, tooDeep)}: nested more than ${LIMITS.json_depth_max} deep`,
      hint: FIX_FILE,
    })
  }
  const root = parseTree(withoutMark(text), errors, { allowTrailingComma: true })
  const [error] = errors
  if (error !== undefined) {
    throw new TurnbellError('config_invalid', {
      detail: `${file}, ${placeOf(text, error.offset)}: ${inWords(printParseErrorCode(error.error))}`,
      hint: FIX_FILE,
    })
  }
  if (root?.type === 'object') return root
  throw new TurnbellError('config_invalid', {
    detail: `${file}, line 1, column 1: expected an object, found ${root?.type ?? 'nothing'}`,
    hint: FIX_FILE,
  })
}

/** Throws `config_invalid` for comments and trailing commas, because the client would skip the file. */
export function requireStrictJson(file: string, text: string, client: string): void {
  rootOf(file, text)
  const whole = withoutMark(text)
  const errors: ParseError[] = []
  parseTree(whole, errors, { disallowComments: true })
  const [error] = errors
  if (error === undefined) return
  const comment = printParseErrorCode(error.error) === 'InvalidCommentToken'
  throw new TurnbellError('config_invalid', {
    detail: `${file}, ${placeOf(text, error.offset)}: ${comment ? 'a comment' : 'a trailing comma'}; ${client} reads plain JSON and skips the whole file`,
    hint: 'Remove it, then try again. Nothing was changed.',
  })
}

/** Returns the position of the first bracket that is nested too deep, because the recursive parser would overflow the stack. */
function placeTooDeep(text: string): number | null {
  const scanner = createScanner(text, true)
  let depth = 0
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const first = text[scanner.getTokenOffset()]
    if (first === '}' || first === ']') depth -= 1
    else if ((first === '{' || first === '[') && ++depth > LIMITS.json_depth_max)
      return scanner.getTokenOffset()
  }
  return null
}

/** Turns `PropertyNameExpected` into `property name expected`. */
const inWords = (code: string) => code.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim()

/** Returns the position in the original file, not in the draft. */
const placeIn = (draft: Draft, { offset }: Node) => placeOf(draft.original, draft.originOf(offset))

/** The error for a value of the wrong type, which the client would refuse too. */
function isOther(file: string, draft: Draft, node: Node, at: readonly string[], expected: string) {
  return new TurnbellError('config_invalid', {
    detail: `${file}, ${placeIn(draft, node)}: expected an ${expected} at ${at.join('.')}, found ${node.type}`,
    hint: FIX_FILE,
  })
}

/** Returns the second of two duplicate keys. */
function repeatedOn([key, ...further]: readonly string[], node: Node | undefined): Node | null {
  if (key === undefined || node?.type !== 'object') return null
  const [first, second] = node.children?.filter(({ children }) => children?.[0]?.value === key) ?? []
  return second ?? repeatedOn(further, first?.children?.[1])
}

function cannotChange(file: string, text: string, { at }: Entry): TurnbellError {
  const repeated = repeatedOn(at, rootOf(file, text))
  const place = repeated === null ? '' : `, ${placeOf(text, repeated.offset)}`
  return new TurnbellError('config_invalid', {
    detail: `${file}${place}: ${at.join('.')} cannot be set, because a key of this path is a duplicate`,
    hint: FIX_FILE,
  })
}
