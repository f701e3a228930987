/** The table of turnbell in a TOML file: a marked block at the end, so that the user's lines keep their format. */
import { isDeepStrictEqual } from 'node:util'
import { parse, TomlError } from 'smol-toml'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { blockIn, putBlock, HASH_MARKS, lineOf, withoutBlock } from './marked-block.ts'
import type { Draft } from './text-edits.ts'
import { entryConflict } from '../conflict-errors.ts'
import { indentAt, lineEnd, placeOf, withoutMark } from './text.ts'

/** `body` defines only the table at the key `at`. */
export interface Table {
  at: readonly [string, string]
  body: string
}

/** Throws `config_invalid`, and `connection_taken` if a table of this name exists that turnbell did not write. */
export function putTable(file: string, text: string, { at, body }: Table): Draft {
  const before = parsed(file, text)
  const [outer, inner] = at
  const group = before[outer]
  if (group !== undefined && !isMap(group)) throw notExtensible(file, text, outer)
  if (group !== undefined && Object.hasOwn(group, inner))
    throw entryConflict('table', `${file}: ${at.join('.')}`)
  if (blockIn(file, text, HASH_MARKS) !== null) throw entryConflict('entry', `${file}: turnbell's block`)
  const draft = putBlock(text, HASH_MARKS, body)
  try {
    parsed(file, draft.text)
  } catch (error) {
    throw error instanceof TurnbellError ? notExtensible(file, text, outer, error) : error
  }
  return draft
}

/** Names the position in the original text, because that is valid by itself. */
function notExtensible(file: string, text: string, outer: string, cause?: unknown): TurnbellError {
  return new TurnbellError('config_invalid', {
    detail: `${file}, ${placeOf(text, beginOf(text, outer))}: no table can be added to ${outer} in this form`,
    hint: `Write it as separate tables, such as [${outer}.name]. Nothing was changed.`,
    cause,
  })
}

/**
 * Returns the beginning of the statement that defines this key. A prefix of the text can be parsed only if it ends with a
 * whole statement, so the statement begins after the longest such prefix without the key.
 */
function beginOf(text: string, key: string): number {
  let begin = 0
  for (let end = 0; end < text.length;) {
    end = lineEnd(text, end)
    const prefix = tryParse(text.slice(0, end))
    if (prefix === null) continue
    if (Object.hasOwn(prefix, key)) break
    begin = end
  }
  return begin + indentAt(text, begin).length
}

export function holdsTable(file: string, text: string, { body }: Table): boolean {
  parsed(file, text)
  return isMarked(text) && blockIn(file, text, HASH_MARKS) === body.trimEnd()
}

/** Throws `config_invalid` if the removal would change the meaning of lines that the person added after the block. */
export function takeTable(file: string, text: string, at: readonly string[]): string {
  const rest = isMarked(text) ? withoutBlock(file, text, HASH_MARKS) : withoutTables(text, at)
  if (rest === text) return text
  const expected = without(parsed(file, text), at)
  const actual = parsed(file, rest)
  if (expected.some((whole) => isDeepStrictEqual(actual, whole))) return rest
  throw new TurnbellError('config_invalid', {
    detail: `${file}: the lines after turnbell's block would change their meaning without it.`,
    hint: 'Move those lines above the block, or add a [table] line before them; then try again.',
  })
}

/** If a mark is missing, the tables are found by their names. */
const MARK_LINES: readonly string[] = [HASH_MARKS.open, HASH_MARKS.close]
const isMarked = (text: string) => MARK_LINES.every((mark) => lineOf(text, mark, 0) !== null)

/** Returns the text without the tables at this key and below it, each up to the next table. */
function withoutTables(text: string, at: readonly string[]): string {
  let rest = ''
  let inside = false
  for (let from = 0; from < text.length; from = lineEnd(text, from)) {
    const line = text.slice(from, lineEnd(text, from))
    const key = tableIn(line)
    if (key !== null) inside = at.every((name, index) => key[index] === name)
    if (!inside && !MARK_LINES.includes(line.trim())) rest += line
  }
  return rest === text ? text : rest.replace(/\n\r?\n$/, '\n')
}

/** Returns the key of a line that begins a table. */
function tableIn(line: string): string[] | null {
  const table = /^\s*\[/.test(line) ? tryParse(line) : null
  if (table === null) return null
  const key: string[] = []
  for (let at: unknown = table; ;) {
    const [name] = isMap(at) ? Object.keys(at) : []
    if (name === undefined) return key
    key.push(name)
    at = (at as Record<string, unknown>)[name]
  }
}

/** Returns true if there is a table at this key. */
export function hasTable(file: string, text: string, [outer = '', inner = '']: readonly string[]): boolean {
  const group = parsed(file, text)[outer]
  return isMap(group) && Object.hasOwn(group, inner)
}

/** Returns the valid results: without its last table, the group may disappear, or remain by a line of its own. */
function without(whole: Record<string, unknown>, [outer = '', inner = '']: readonly string[]): unknown[] {
  const { [outer]: group, ...others } = whole
  if (!isMap(group)) return [whole]
  const rest = Object.fromEntries(Object.entries(group).filter(([key]) => key !== inner))
  const kept = { ...others, [outer]: rest }
  return Object.keys(rest).length === 0 ? [kept, others] : [kept]
}

function parsed(file: string, text: string): Record<string, unknown> {
  try {
    // Plain objects, so that two results can be compared.
    return structuredClone(read(text))
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const what = (error.message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '')
    throw new TurnbellError('config_invalid', {
      detail: `${file}, line ${error.line}, column ${error.column}: ${what}`,
      hint: 'Fix the file, then try again. Nothing was changed.',
      cause: error,
    })
  }
}

function tryParse(text: string): Record<string, unknown> | null {
  try {
    return read(text)
  } catch {
    return null
  }
}

const read = (text: string) => parse(withoutMark(text), { integersAsBigInt: 'asNeeded' })

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
