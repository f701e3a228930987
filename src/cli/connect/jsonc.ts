/**
 * Single entries in a JSON file with comments. A person wrote that file: entries are cut in and out at
 * places that the parser names, and every other byte stays as it was.
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
import { TurnbellError } from '../../contracts/errors.ts'
import { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { Draft, type Splice } from './splices.ts'
import { isTaken } from './taken.ts'
import { beginsLine, endOfLine, indentAt, isBlank, lineEnd, lineStart, placeOf, withoutMark } from './text.ts'

const Path = z.array(z.string()).min(1)

/** One key with its value, or with `in_list` one element of the list that stands at the key. */
export const Entry = z.strictObject({
  at: Path,
  value: Json,
  in_list: z.boolean().optional(),
  /** A plain word in place of the map that holds the key is short for a map with this key. */
  short: z.string().optional(),
})
export type Entry = z.infer<typeof Entry>

export interface Put {
  text: string
  splices: Splice[]
  /** The entries that were not there before: only these are ours. */
  own: Entry[]
  /** Maps and lists that were made to hold them. */
  made: string[][]
}

/** @throws `config_invalid` for a file that cannot be read, `connection_taken` for an entry with another value. */
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
 * Takes entries out again wherever they stand by now, and the maps and lists that were made for them, once
 * they are empty. What stands at the key of an entry is taken whatever a person made of it, and so is an element that
 * still says which program of ours is to run: it would go on acting.
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

/** The first word of an entry that names a file: the command line of a hook, the file of a plugin. */
function programIn(value: Json): string | undefined {
  if (typeof value === 'string') return /[/\\]/.test(value) ? value : undefined
  const inner = typeof value === 'object' && value !== null ? Object.values(value) : []
  return inner.map(programIn).find((found) => found !== undefined)
}

/** The element that says this word; of one in which a person's own elements stand beside it, only the inner one. */
function elementWith(list: Node | undefined, word: string): Node | undefined {
  const element = list?.children?.find((child) => says(child, word))
  const inner =
    element?.type === 'object' ? element.children?.find((property) => says(property, word)) : undefined
  const held = inner?.children?.[1]
  return held?.type === 'array' && (held.children?.length ?? 0) > 1 ? elementWith(held, word) : element
}

const says = (node: Node, word: string): boolean =>
  node.value === word || (node.children?.some((child) => says(child, word)) ?? false)

/** True where every entry stands as it should. */
export function holdsEntries(file: string, text: string, entries: readonly Entry[]): boolean {
  return !isBlank(text) && entries.every((entry) => isIn(file, text, entry))
}

/** A file of which nothing is left but its brackets. */
export function isHollowFile(file: string, text: string): boolean {
  return isBlank(text) || isHollow(text.trim(), rootOf(file, text.trim()))
}

/** By what the client will read: of two keys of one name the last one counts. */
function isIn(file: string, text: string, { at, value, in_list }: Entry): boolean {
  let found = valueOf(rootOf(file, text))
  for (const key of at) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return false
    found = (found as Record<string, unknown>)[key]
  }
  if (in_list !== true) return isDeepStrictEqual(found, value)
  return Array.isArray(found) && found.some((element) => isDeepStrictEqual(element, value))
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

/** The paths of everything above the key, from the outside in, beginning below `depth` keys. */
function above(at: readonly string[], depth: number): string[][] {
  return at.slice(0, -1).flatMap((_, index) => (index < depth ? [] : [at.slice(0, index + 1)]))
}

const unique = (paths: string[][]) =>
  paths.filter((path, index) => paths.findIndex((other) => isDeepStrictEqual(other, path)) === index)

/** Answers what was made to hold the entry. */
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
    throw isTaken('entry', `${file}, ${placeIn(draft, node)}: ${at.join('.')}`)
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

/** `"ask"` becomes `{ "*": "ask" }`, which says the same. */
function widen(draft: Draft, { offset, length }: Node, key: string): void {
  const word = draft.text.slice(offset, offset + length)
  draft.cut(offset, length, `{ ${JSON.stringify(key)}: ${word} }`)
}

/** As the last child of a map (with a key) or of a list. Comments stay with what they stand beside. */
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

/** With its comma, and with its line where it stands there alone. */
function takeNode(draft: Draft, value: Node): void {
  const { text } = draft
  const node = value.parent?.type === 'property' ? value.parent : value
  const end = node.offset + node.length
  const siblings = node.parent?.children ?? []
  const before = siblings[siblings.indexOf(node) - 1]
  const behind = commaAfter(text, end)
  const comma = behind ?? (before === undefined ? null : commaAfter(text, before.offset + before.length))
  const [start, stop] =
    beginsLine(text, node.offset) && isBlank(text.slice(end, lineEnd(text, end)).replace(',', ''))
      ? [lineStart(text, node.offset), lineEnd(text, end)]
      : behind === null
        ? [node.offset - blanksBefore(text, node.offset), end]
        : [node.offset, end]
  // From the back to the front, so that no cut moves the next one.
  if (comma !== null && comma >= stop) draft.cut(comma, 1, '')
  const gap = behind === null || stop > end ? 0 : (/^[ \t]*/.exec(draft.text.slice(stop))?.[0].length ?? 0)
  draft.cut(start, stop + gap - start, '')
  if (comma !== null && comma < start) draft.cut(comma, 1, '')
}

const blanksBefore = (text: string, at: number) => /[ \t]*$/.exec(text.slice(0, at))?.[0].length ?? 0

/** Where the comma behind `at` stands, with only blanks and comments between. */
function commaAfter(text: string, at: number): number | null {
  const scanner = createScanner(text, true)
  scanner.setPosition(at)
  scanner.scan()
  const found = scanner.getTokenOffset()
  return text[found] === ',' ? found : null
}

function isHollow(text: string, node: Node): boolean {
  return (
    (node.type === 'object' || node.type === 'array') &&
    isBlank(text.slice(node.offset + 1, node.offset + node.length - 1))
  )
}

/** Plain objects; the parser's own have no prototype and would equal nothing. */
const valueOf = (node: Node): unknown => structuredClone(getNodeValue(node))

/** How the file indents, by its first indented line. */
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
      detail: `${file}, ${placeOf(text, tooDeep)}: it is nested more than ${LIMITS.json_depth_max} deep`,
      hint: 'Mend the file, then try again. Nothing was changed.',
    })
  }
  const root = parseTree(withoutMark(text), errors, { allowTrailingComma: true })
  const [error] = errors
  if (error !== undefined) {
    throw new TurnbellError('config_invalid', {
      detail: `${file}, ${placeOf(text, error.offset)}: ${inWords(printParseErrorCode(error.error))}`,
      hint: 'Mend the file, then try again. Nothing was changed.',
    })
  }
  if (root?.type === 'object') return root
  throw new TurnbellError('config_invalid', {
    detail: `${file}, line 1, column 1: a map was expected, found ${root?.type ?? 'nothing'}`,
    hint: 'Mend the file, then try again. Nothing was changed.',
  })
}

/** @throws `config_invalid` for comments and trailing commas, where the client reads neither. */
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

/** The parser goes down once for each map or list in another, and so would end the process. */
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

/** `PropertyNameExpected` as `property name expected`. */
const inWords = (code: string) => code.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim()

/** In the file as it is, not in the draft. */
const placeIn = (draft: Draft, { offset }: Node) => placeOf(draft.original, draft.originOf(offset))

/** The client itself would not take it either. */
function isOther(file: string, draft: Draft, node: Node, at: readonly string[], expected: string) {
  return new TurnbellError('config_invalid', {
    detail: `${file}, ${placeIn(draft, node)}: ${at.join('.')} has to be an ${expected}, found ${node.type}`,
    hint: 'Mend the file, then try again. Nothing was changed.',
  })
}

/** The second of two keys of one name. */
function repeatedOn([key, ...further]: readonly string[], node: Node | undefined): Node | null {
  if (key === undefined || node?.type !== 'object') return null
  const [first, second] = node.children?.filter(({ children }) => children?.[0]?.value === key) ?? []
  return second ?? repeatedOn(further, first?.children?.[1])
}

function cannotChange(file: string, text: string, { at }: Entry): TurnbellError {
  const repeated = repeatedOn(at, rootOf(file, text))
  const place = repeated === null ? '' : `, ${placeOf(text, repeated.offset)}`
  return new TurnbellError('config_invalid', {
    detail: `${file}${place}: ${at.join('.')} cannot be set, because a key on the way stands there twice`,
    hint: 'Mend the file, then try again. Nothing was changed.',
  })
}
