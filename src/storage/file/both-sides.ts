/**
 * One record that two branches have changed. Git merges it line by line; where it could not, both sides are in the
 * text, with its marks or, where somebody took these out, without: then fields are there twice, and commas may be
 * missing.
 */
import { ARTIFACT_KIND, PIN_KIND } from '../../contracts/context.ts'
import { DECISION_KIND } from '../../contracts/decision.ts'
import type { Json } from '../../contracts/ids.ts'
import { exactJsonIn } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { endsOf } from '../../contracts/records.ts'
import type { RecordBody } from '../../ports/record-store.ts'
import { evenText } from './even-text.ts'
import { isObject } from './is-object.ts'
import { sidesOf } from './merge-marks.ts'
import { pairsIn } from './object-scan.ts'

/** Whether an object's text says more fields than a parser has found in it. */
export function saysFieldsTwice(text: string, value: RecordBody): boolean {
  return (text.match(FIELD)?.length ?? 0) > Object.keys(value).length
}

/** As turnbell writes them: one a line, two in. */
const FIELD = /^ {2}"(?:[^"\\]|\\.)*":/gm

/** The versions that a text holds of one object, each by itself; null where it holds something else as well. */
export function versionsIn(text: string): RecordBody[] | null {
  const versions = sidesOf(text.trim()).flatMap(firstAndLast)
  const whole = versions.filter((version) => version !== null)
  return whole.length < versions.length ? null : whole
}

/**
 * What either says. Of one field, what the one says that was changed later, as far as they tell; but what is over on one
 * side is over. In lists and mappings, to which most changes add, everything. Where they count their changes, this is one
 * more than either.
 */
export function joined(kind: string, some: RecordBody, other: RecordBody): RecordBody {
  const [former, later] = counts(kind, some, other) ? [other, some] : [some, other]
  const counted = Math.max(generationOf(some), generationOf(other))
  const changed = [former['updated_at'], later['updated_at']].filter((at) => typeof at === 'string')
  return {
    ...bothFields(former, later),
    ...(changed.length > 1 ? { updated_at: changed.toSorted().at(-1) ?? '' } : {}),
    ...(counted > 0 ? { generation: counted + 1 } : {}),
  }
}

const ENDS = new Map([DECISION_KIND, PIN_KIND, ARTIFACT_KIND].map((kind) => [kind.name, endsOf(kind)]))

/** Whoever doubted or changed on one side what is over on the other did not know of that. */
function counts(kind: string, some: RecordBody, other: RecordBody): boolean {
  const isOver = ({ status }: RecordBody) =>
    typeof status === 'string' && ENDS.get(kind)?.has(status) === true
  return isOver(some) === isOver(other) ? isLater(some, other) : isOver(some)
}

/** Generations are counted on each side for itself, so times come first. */
function isLater(some: RecordBody, other: RecordBody): boolean {
  const [at, other_at] = [changedAt(some), changedAt(other)]
  return at === other_at ? generationOf(some) > generationOf(other) : at > other_at
}

function generationOf({ generation }: RecordBody): number {
  return typeof generation === 'number' ? generation : 0
}

function both(former: Json | undefined, later: Json): Json {
  if (Array.isArray(former) && Array.isArray(later)) {
    const known = new Set(former.map(evenText))
    return [...former, ...later.filter((one) => !known.has(evenText(one)))]
  }
  return isObject(former) && isObject(later) ? bothFields(former, later) : later
}

function bothFields(former: RecordBody, later: RecordBody): RecordBody {
  const fields = Object.entries(later).map(([name, value]) => [name, both(former[name], value)] as const)
  return { ...former, ...Object.fromEntries(fields) }
}

function changedAt(body: RecordBody): string {
  const at = body['updated_at'] ?? body['created_at']
  return typeof at === 'string' ? at : ''
}

/**
 * Whole objects may stand one behind the other. Of each what is said first, and what is said last, of every field; null
 * for all that is none.
 */
function firstAndLast(text: string): (RecordBody | null)[] {
  const versions: (RecordBody | null)[] = []
  let rest = text
  for (let n = 0; rest !== '' && n < LIMITS.record_versions_max; n += 1) {
    const read = rest.startsWith('{') ? pairsIn(rest) : null
    if (read === null) return [null]
    versions.push(...versionsOf(read.pairs))
    rest = rest.slice(read.end).replace(/^[\s,]+/, '')
  }
  return rest === '' ? versions : [null]
}

function versionsOf(pairs: readonly [string, string][]): (RecordBody | null)[] {
  const one = (of: readonly [string, string][]) => {
    const value = exactJsonIn(`{${of.map((pair) => pair.join(':')).join()}}`)
    return isObject(value) ? value : null
  }
  return new Map(pairs).size === pairs.length ? [one(pairs)] : [one(pairs.toReversed()), one(pairs)]
}
