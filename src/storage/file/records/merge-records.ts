/**
 * Merges the versions of one record that two branches have changed. Git merges line by line; after a conflict the text
 * contains both sides, with conflict markers or, if a person removed them, without. Then fields occur twice and commas
 * may be missing.
 */
import { ARTIFACT_KIND, PIN_KIND } from '../../../contracts/memory/context.ts'
import { DECISION_KIND } from '../../../contracts/memory/decision.ts'
import type { Json } from '../../../contracts/ids.ts'
import { parseExactJsonOrNull } from '../../../contracts/validation/json.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { endsOf } from '../../../contracts/memory/records.ts'
import type { RecordBody } from '../../../ports/record-store.ts'
import { canonicalJson } from '../../../contracts/validation/canonical-json.ts'
import { isObject } from '../../../contracts/validation/is-object.ts'
import { splitSides } from './conflict-markers.ts'
import { parsePairs } from './lenient-json.ts'

/** Returns whether an object's text contains more fields than the parsed value. */
export function hasDuplicateFields(text: string, value: RecordBody): boolean {
  return (text.match(FIELD)?.length ?? 0) > Object.keys(value).length
}

/** A field as turnbell writes it: on its own line, indented by two spaces. */
const FIELD = /^ {2}"(?:[^"\\]|\\.)*":/gm

/** Returns the versions of one object in a text; null if the text contains anything else. */
export function parseVersions(text: string): RecordBody[] | null {
  const versions = splitSides(text.trim()).flatMap(parseObjects)
  const whole = versions.filter((version) => version !== null)
  return whole.length < versions.length ? null : whole
}

/**
 * Merges two versions. Each field takes the value of the version changed later, except that a final status wins over an open
 * one. Lists and objects are united. The generation becomes one more than the higher one.
 */
export function mergeRecords(kind: string, some: RecordBody, other: RecordBody): RecordBody {
  const [former, later] = supersedes(kind, some, other) ? [other, some] : [some, other]
  const counted = Math.max(generationOf(some), generationOf(other))
  const changed = [former['updated_at'], later['updated_at']].filter((at) => typeof at === 'string')
  return {
    ...mergeFields(former, later),
    ...(changed.length > 1 ? { updated_at: changed.toSorted().at(-1) ?? '' } : {}),
    ...(counted > 0 ? { generation: counted + 1 } : {}),
  }
}

const ENDS = new Map([DECISION_KIND, PIN_KIND, ARTIFACT_KIND].map((kind) => [kind.name, endsOf(kind)]))

/** Returns whether `some` takes precedence. A final status wins, because the other side was changed without knowing of it. */
function supersedes(kind: string, some: RecordBody, other: RecordBody): boolean {
  const isOver = ({ status }: RecordBody) =>
    typeof status === 'string' && ENDS.get(kind)?.has(status) === true
  return isOver(some) === isOver(other) ? isLater(some, other) : isOver(some)
}

/** Compares times first, because each side counts its generations separately. */
function isLater(some: RecordBody, other: RecordBody): boolean {
  const [at, other_at] = [changedAt(some), changedAt(other)]
  return at === other_at ? generationOf(some) > generationOf(other) : at > other_at
}

function generationOf({ generation }: RecordBody): number {
  return typeof generation === 'number' ? generation : 0
}

function mergeValues(former: Json | undefined, later: Json): Json {
  if (Array.isArray(former) && Array.isArray(later)) {
    const present = new Set(former.map(canonicalJson))
    return [...former, ...later.filter((one) => !present.has(canonicalJson(one)))]
  }
  return isObject(former) && isObject(later) ? mergeFields(former, later) : later
}

function mergeFields(former: RecordBody, later: RecordBody): RecordBody {
  const fields = Object.entries(later).map(
    ([name, value]) => [name, mergeValues(former[name], value)] as const,
  )
  return { ...former, ...Object.fromEntries(fields) }
}

function changedAt(body: RecordBody): string {
  const at = body['updated_at'] ?? body['created_at']
  return typeof at === 'string' ? at : ''
}

/**
 * Parses consecutive objects. An object with duplicate fields yields two versions: one with the first value of each field,
 * one with the last. Returns [null] if the text contains anything else.
 */
function parseObjects(text: string): (RecordBody | null)[] {
  const versions: (RecordBody | null)[] = []
  let rest = text
  for (let n = 0; rest !== '' && n < LIMITS.record_versions_max; n += 1) {
    const read = rest.startsWith('{') ? parsePairs(rest) : null
    if (read === null) return [null]
    versions.push(...versionsOf(read.pairs))
    rest = rest.slice(read.end).replace(/^[\s,]+/, '')
  }
  return rest === '' ? versions : [null]
}

function versionsOf(pairs: readonly [string, string][]): (RecordBody | null)[] {
  const one = (of: readonly [string, string][]) => {
    const value = parseExactJsonOrNull(`{${of.map((pair) => pair.join(':')).join()}}`)
    return isObject<Json>(value) ? value : null
  }
  return new Map(pairs).size === pairs.length ? [one(pairs)] : [one(pairs.toReversed()), one(pairs)]
}
