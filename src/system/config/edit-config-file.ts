/** Edits single keys of `config.yaml`. Comments, quotes, blank lines and the order of keys stay. */
import fs from 'node:fs'
import { isMap, isScalar, parseDocument, type Document, type Node, type Pair, type Scalar } from 'yaml'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { canonicalJson } from '../../contracts/validation/canonical-json.ts'
import { withShortLock } from '../files/short-lock.ts'
import { writeFileAtomic } from '../files/atomic-write.ts'

type Value = string | number | boolean | Value[] | { [key: string]: Value | undefined }
type Path = readonly [string, ...string[]]

/**
 * Sets the key and creates missing maps. Returns the text itself if it is unchanged.
 *
 * @throws `config_invalid` if a value on the path is not a map.
 */
export function setInYaml(text: string, at: Path, value: Value): string {
  return changeYaml(text, at, (document) => {
    if (same(valueIn(document, at), value)) return false
    for (let depth = 1; depth < at.length; depth += 1) openMap(document, at.slice(0, depth))
    document.setIn(at, value)
    return true
  })
}

/** Removes the key. Returns the text itself if the key is missing. Throws like `setInYaml`. */
export function deleteInYaml(text: string, at: Path): string {
  return changeYaml(text, at, (document) => {
    if (valueIn(document, at) === undefined) return false
    keepCommentAbove(document, at)
    document.deleteIn(at)
    return true
  })
}

/**
 * Applies a change to the file atomically. Concurrent changes are serialized.
 *
 * @returns whether anything changed.
 */
export async function changeConfigFile(file: string, change: (text: string) => string): Promise<boolean> {
  // A symlinked file (dotfiles in a repository) is changed at its target; the link stays.
  const target = fs.existsSync(file) ? fs.realpathSync(file) : file
  return withShortLock({ lock: `${target}.lock`, busy: `${target} is being changed` }, () => {
    const existed = fs.existsSync(target)
    const before = existed ? fs.readFileSync(target, 'utf8') : ''
    const after = change(before)
    if (after === before) return false
    writeFileAtomic(target, after, { mode: existed ? fs.statSync(target).mode & 0o777 : 0o600, flush: true })
    return true
  })
}

/** Returns the printed document if `change` returns true. Errors of the library are caused by the file. */
function changeYaml(text: string, at: Path, change: (document: Document) => boolean): string {
  try {
    const document = parse(text)
    if (!change(document)) return text
    const printed = document.toString({ lineWidth: 0 })
    // The printer does not handle every document that the parser accepts.
    if (!same(parse(printed).toJS(), document.toJS())) throw new Error('it cannot be written as YAML')
    return text.includes('\r\n') ? printed.replaceAll(/\r?\n/g, '\r\n') : printed
  } catch (cause) {
    throw new TurnbellError('config_invalid', {
      detail: `the configuration: ${at.join('.')} cannot be changed: ${(cause as Error).message}`,
      hint: 'Fix the file, then try again. Nothing was changed.',
      cause,
    })
  }
}

function parse(text: string): Document {
  const document = parseDocument(text)
  const [error] = document.errors
  if (error) throw error
  return document
}

/** Replaces a key without a value by a map, which keeps its comments, and prints an empty map as a block. */
function openMap(document: Document, at: readonly string[]): void {
  const pair = pairAt(document, at)
  if (pair === null) return
  const { value } = pair
  if (value === null || (isScalar(value) && value.value === null)) {
    const map = document.createNode({})
    map.comment = value?.comment ?? null
    map.commentBefore = value?.commentBefore ?? null
    pair.value = map
  }
  if (isMap(pair.value) && pair.value.items.length === 0) pair.value.flow = false
}

/** Moves the comment above a key to the next key, or to the end of the map. */
function keepCommentAbove(document: Document, at: readonly string[]): void {
  const comment = pairAt(document, at)?.key.commentBefore
  const map = document.getIn(at.slice(0, -1), true)
  if (comment == null || !isMap(map)) return
  const next = map.items[map.items.findIndex(({ key }) => isNamed(key, at)) + 1]?.key
  if (isScalar(next)) next.commentBefore = joined(comment, next.commentBefore)
  else map.comment = joined(comment, map.comment)
}

function pairAt(document: Document, at: readonly string[]): Pair<Scalar, Node | null> | null {
  const map = document.getIn(at.slice(0, -1), true)
  if (!isMap(map)) return null
  return (map.items.find(({ key }) => isNamed(key, at)) as Pair<Scalar, Node | null> | undefined) ?? null
}

const isNamed = (key: unknown, at: readonly string[]) => isScalar(key) && String(key.value) === at.at(-1)
const joined = (above: string, below: string | null | undefined) =>
  below == null ? above : `${above}\n${below}`

function valueIn(document: Document, at: Path): unknown {
  let value: unknown = document.toJS()
  for (const key of at) {
    if (value === null || typeof value !== 'object') return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** Compares values without regard to the order of keys, which has no meaning in YAML. */
const same = (a: unknown, b: unknown) => canonicalJson(a) === canonicalJson(b)
