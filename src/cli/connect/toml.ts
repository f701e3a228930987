/** turnbell's table in a TOML file: a marked block at its end, so that a person's lines are never laid out anew. */
import { isDeepStrictEqual } from 'node:util'
import { parse, TomlError } from 'smol-toml'
import { TurnbellError } from '../../contracts/errors.ts'
import { blockIn, putBlock, HASH_MARKS, lineOf, withoutBlock } from './marked-block.ts'
import type { Draft } from './splices.ts'
import { isTaken } from './taken.ts'
import { indentAt, lineEnd, placeOf, withoutMark } from './text.ts'

/** `body` defines the table `at` and nothing else. */
export interface Table {
  at: readonly [string, string]
  body: string
}

/** @throws `config_invalid`, `connection_taken` where a table of this name stands there that is not ours. */
export function putTable(file: string, text: string, { at, body }: Table): Draft {
  const before = parsed(file, text)
  const [outer, inner] = at
  const group = before[outer]
  if (group !== undefined && !isMap(group)) throw takesNoTable(file, text, outer)
  if (group !== undefined && Object.hasOwn(group, inner)) throw isTaken('table', `${file}: ${at.join('.')}`)
  if (blockIn(file, text, HASH_MARKS) !== null) throw isTaken('entry', `${file}: turnbell's block`)
  const draft = putBlock(text, HASH_MARKS, body)
  try {
    parsed(file, draft.text)
  } catch (error) {
    throw error instanceof TurnbellError ? takesNoTable(file, text, outer, error) : error
  }
  return draft
}

/** What stands there is whole in itself, so the place in question is its own, not one of the draft. */
function takesNoTable(file: string, text: string, outer: string, cause?: unknown): TurnbellError {
  return new TurnbellError('config_invalid', {
    detail: `${file}, ${placeOf(text, beginOf(text, outer))}: ${outer} is written in a form to which no table can be added`,
    hint: `Write it as tables of their own, such as [${outer}.name]. Nothing was changed.`,
    cause,
  })
}

/**
 * Where the statement begins that defines this key. Lines from the top can be parsed only if they end with a whole
 * statement, so it begins behind the most of them that can be and do not define the key yet.
 */
function beginOf(text: string, key: string): number {
  let begin = 0
  for (let end = 0; end < text.length;) {
    end = lineEnd(text, end)
    const known = tryParse(text.slice(0, end))
    if (known === null) continue
    if (Object.hasOwn(known, key)) break
    begin = end
  }
  return begin + indentAt(text, begin).length
}

export function holdsTable(file: string, text: string, { body }: Table): boolean {
  parsed(file, text)
  return isMarked(text) && blockIn(file, text, HASH_MARKS) === body.trimEnd()
}

/** @throws `config_invalid` where lines that a person added behind the block would change their meaning. */
export function takeTable(file: string, text: string, at: readonly string[]): string {
  const rest = isMarked(text) ? withoutBlock(file, text, HASH_MARKS) : withoutTables(text, at)
  if (rest === text) return text
  const expected = without(parsed(file, text), at)
  const found = parsed(file, rest)
  if (expected.some((whole) => isDeepStrictEqual(found, whole))) return rest
  throw new TurnbellError('config_invalid', {
    detail: `${file}: what stands behind turnbell's block would mean something else without it`,
    hint: 'Move those lines above the block, or give them a [table] line of their own; then try again.',
  })
}

/** False where a mark is missing: the tables are found by their names then. */
const MARK_LINES: readonly string[] = [HASH_MARKS.open, HASH_MARKS.close]
const isMarked = (text: string) => MARK_LINES.every((mark) => lineOf(text, mark, 0) !== null)

/** The text without the tables at this key and below it, each with the lines up to the next table. */
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

/** The key of a line that begins a table. */
function tableIn(line: string): string[] | null {
  const known = /^\s*\[/.test(line) ? tryParse(line) : null
  if (known === null) return null
  const key: string[] = []
  for (let at: unknown = known; ;) {
    const [name] = isMap(at) ? Object.keys(at) : []
    if (name === undefined) return key
    key.push(name)
    at = (at as Record<string, unknown>)[name]
  }
}

/** Whether a table stands at this key. */
export function hasTable(file: string, text: string, [outer = '', inner = '']: readonly string[]): boolean {
  const group = parsed(file, text)[outer]
  return isMap(group) && Object.hasOwn(group, inner)
}

/** The group itself may go with its last table, or stand there by a line of its own. */
function without(whole: Record<string, unknown>, [outer = '', inner = '']: readonly string[]): unknown[] {
  const { [outer]: group, ...others } = whole
  if (!isMap(group)) return [whole]
  const rest = Object.fromEntries(Object.entries(group).filter(([key]) => key !== inner))
  const kept = { ...others, [outer]: rest }
  return Object.keys(rest).length === 0 ? [kept, others] : [kept]
}

function parsed(file: string, text: string): Record<string, unknown> {
  try {
    // Plain objects, so that two readings can be compared.
    return structuredClone(read(text))
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const what = (error.message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '')
    throw new TurnbellError('config_invalid', {
      detail: `${file}, line ${error.line}, column ${error.column}: ${what}`,
      hint: 'Mend the file, then try again. Nothing was changed.',
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
