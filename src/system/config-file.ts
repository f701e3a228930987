/**
 * Changes single keys of `config.yaml`. A person wrote that file: every byte that the change does not
 * concern stays as it was, comments, blank lines and quoting included. The YAML library's own printer
 * would lay the whole file out anew, so the change is cut into the text at the places its parser names.
 */
import fs from 'node:fs'
import { isMap, isScalar, parseDocument, stringify, type Scalar, type YAMLMap } from 'yaml'
import { TurnbellError } from '../contracts/errors.ts'
import { underBriefLock } from './brief-lock.ts'
import { replaceFile } from './replace-file.ts'

type Value = string | number | boolean | Value[] | { [key: string]: Value | undefined }
type Path = readonly [string, ...string[]]
interface Entry {
  key: Scalar
  value: (YAMLMap | Scalar) & { range: [number, number, number] }
}

/**
 * Sets the key, making the maps on the way. Returns the text itself where it says so already.
 *
 * @throws `config_invalid` where something else than a map stands on the way.
 */
export function setInYaml(text: string, at: Path, value: Value): string {
  return orRefused(at, () => {
    if (same(readIn(text, at), value)) return text
    return checked(text, spliced(text, at, value), (document) => {
      // The library sets nothing inside a key that has no value yet.
      const above = at.slice(0, -1)
      if (isPath(above) && document.getIn(above) === null) document.deleteIn(above)
      document.setIn(at, value)
    })
  })
}

/** Takes the key out. Returns the text itself where there is no such key. Throws as `setInYaml` does. */
export function deleteInYaml(text: string, at: Path): string {
  return orRefused(at, () => {
    if (readIn(text, at) === undefined) return text
    return checked(text, withoutEntry(text, at), (document) => document.deleteIn(at))
  })
}

/** A person wrote the file: what the library cannot do with it is theirs to mend. */
function orRefused(at: Path, change: () => string): string {
  try {
    return change()
  } catch (cause) {
    if (cause instanceof TurnbellError) throw cause
    throw new TurnbellError('config_invalid', {
      detail: `the configuration: ${at.join('.')} cannot be changed: ${(cause as Error).message}`,
      hint: 'Mend the file, then try again. Nothing was changed.',
      cause,
    })
  }
}

/**
 * Applies a change to the file: read, change, write aside, rename. Two of these at once follow one
 * another; a reader sees the old file or the new one.
 *
 * @returns whether anything changed.
 */
export async function changeConfigFile(file: string, change: (text: string) => string): Promise<boolean> {
  // A linked file (dotfiles in a repository) is changed where it lies; the link stays a link.
  const target = fs.existsSync(file) ? fs.realpathSync(file) : file
  return underBriefLock({ lock: `${target}.lock`, busy: `${target} is being changed` }, () => {
    const existed = fs.existsSync(target)
    const before = existed ? fs.readFileSync(target, 'utf8') : ''
    const after = change(before)
    if (after === before) return false
    replaceFile(target, after, { mode: existed ? fs.statSync(target).mode & 0o777 : 0o600, flush: true })
    return true
  })
}

/** The cut must mean exactly what the library's own change means; where it does not, the library prints. */
function checked(
  text: string,
  cut: string | null,
  change: (document: ReturnType<typeof parse>) => void,
): string {
  const document = parse(text)
  change(document)
  if (cut !== null) {
    const reread = parseDocument(cut)
    if (reread.errors.length === 0 && same(reread.toJS(), document.toJS())) return cut
  }
  return document.toString({ lineWidth: 0 })
}

function parse(text: string) {
  const document = parseDocument(text)
  const [error] = document.errors
  if (error) {
    throw new TurnbellError('config_invalid', {
      detail: `the configuration file cannot be changed because it cannot be read: ${error.message}`,
    })
  }
  return document
}

function readIn(text: string, at: Path): unknown {
  let value: unknown = parse(text).toJS()
  for (const key of at) {
    if (value === null || typeof value !== 'object') return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

function spliced(text: string, at: Path, value: Value): string | null {
  const found = entryAt(text, at)
  if (found !== null) {
    if (isScalar(found.value) && isScalarValue(value)) return replaceScalar(text, found, value)
    const without = withoutEntry(text, at)
    return without === null ? null : spliced(without, at, value)
  }
  const above = at.slice(0, -1)
  const key = at[at.length - 1] as string
  if (!isPath(above)) return intoRoot(text, key, value)
  const parent = entryAt(text, above)
  if (parent === null) return spliced(text, above, { [key]: value })
  if (isMap(parent.value) && parent.value.items.length > 0) {
    return parent.value.flow === true ? null : intoBlock(text, parent.value, key, value)
  }
  // `personas:` or `personas: {}`: what stands there for nothing makes room for the block.
  return insteadOfNothing(text, parent, key, value)
}

function intoRoot(text: string, key: string, value: Value): string | null {
  const { contents } = parse(text)
  if (isMap(contents) && contents.flow === true) return null
  const eol = endOfLine(text)
  const glue = text === '' || text.endsWith('\n') ? '' : eol
  return text + glue + block(key, value, 0, eol)
}

function intoBlock(text: string, map: YAMLMap, key: string, value: Value): string {
  const last = map.items.at(-1) as unknown as Entry
  const column = columnOf(text, last)
  const end = endOfEntry(text, last, column)
  const eol = endOfLine(text)
  const glue = end > 0 && text[end - 1] !== '\n' ? eol : ''
  return text.slice(0, end) + glue + block(key, value, column, eol) + text.slice(end)
}

function insteadOfNothing(text: string, parent: Entry, key: string, value: Value): string {
  const [from, to] = parent.value.range
  const head = text.slice(0, from).replace(/[ \t]+$/, '')
  const end = lineEnd(text, to)
  const rest = text.slice(to, end)
  const eol = endOfLine(text)
  const glue = rest.endsWith('\n') ? '' : eol
  const column = columnOf(text, parent) + 2
  return head + rest + glue + block(key, value, column, eol) + text.slice(end)
}

function replaceScalar(text: string, entry: Entry, value: Value): string | null {
  const [from, to] = entry.value.range
  if (from === to || text.slice(from, to).includes('\n')) return null
  return text.slice(0, from) + stringify(value, { lineWidth: 0 }).trimEnd() + text.slice(to)
}

/** The entry's own lines go; comments above it stay. A map that would stand empty says so: `{}`. */
function withoutEntry(text: string, at: Path): string | null {
  const entry = entryAt(text, at)
  if (entry === null || entry.key.range == null) return null
  const above = at.slice(0, -1)
  const parent = isPath(above) ? entryAt(text, above) : null
  if (parent !== null && isMap(parent.value) && parent.value.flow === true) return null
  const column = columnOf(text, entry)
  const from = lineStart(text, entry.key.range[0])
  if (text.slice(from, from + column).trim() !== '') return null
  const rest = text.slice(0, from) + text.slice(endOfEntry(text, entry, column))
  const wasLast = parent !== null && isMap(parent.value) && parent.value.items.length === 1
  if (!wasLast || parent.key.range == null) return rest
  const colon = text.indexOf(':', parent.key.range[1]) + 1
  return `${rest.slice(0, colon)} {}${rest.slice(colon)}`
}

function entryAt(text: string, at: Path): Entry | null {
  let map: unknown = parse(text).contents
  let found: Entry | null = null
  for (const key of at) {
    if (!isMap(map)) return null
    const entry = map.items.find((item) => isScalar(item.key) && String(item.key.value) === key)
    if (entry === undefined || !isNodeWithRange(entry.value)) return null
    found = entry as unknown as Entry
    map = entry.value
  }
  return found
}

function isNodeWithRange(value: unknown): boolean {
  return value !== null && typeof value === 'object' && Array.isArray((value as { range?: unknown }).range)
}

/** Behind the entry's last line, and behind the comments under it that are indented as part of it. */
function endOfEntry(text: string, entry: Entry, column: number): number {
  const [from, to] = entry.value.range
  const last = from === to ? (entry.key.range?.[1] ?? to) : to
  let end = text[last - 1] === '\n' ? last : lineEnd(text, last)
  for (let at = end; at < text.length;) {
    const next = lineEnd(text, at)
    const line = text.slice(at, next)
    const indent = line.length - line.trimStart().length
    if (line.trim() !== '') {
      if (!line.trimStart().startsWith('#') || indent <= column) break
      end = next
    }
    at = next
  }
  return end
}

function block(key: string, value: Value, column: number, eol: string): string {
  const lines = stringify({ [key]: value }, { lineWidth: 0 })
    .trimEnd()
    .split('\n')
  return lines.map((line) => ' '.repeat(column) + line + eol).join('')
}

const endOfLine = (text: string) => (text.includes('\r\n') ? '\r\n' : '\n')
const lineStart = (text: string, at: number) => text.lastIndexOf('\n', at - 1) + 1
function lineEnd(text: string, at: number): number {
  const newline = text.indexOf('\n', at)
  return newline === -1 ? text.length : newline + 1
}
function columnOf(text: string, entry: Entry): number {
  const at = entry.key.range?.[0] ?? 0
  return at - lineStart(text, at)
}

const isPath = (keys: readonly string[]): keys is Path => keys.length > 0
const isScalarValue = (value: Value) => typeof value !== 'object'
const same = (a: unknown, b: unknown) => canonical(a) === canonical(b)

/** Key order says nothing in YAML, and neither does a key without a value. */
function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner: unknown) =>
      inner !== null && typeof inner === 'object' && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'nothing'
  )
}
