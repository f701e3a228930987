/** Resolves references in the input of a step: to results of earlier steps, and to parameters of the routine. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { GivenParams, ReportStep } from '../../contracts/runs/routine.ts'

/** Status and complete result of an earlier step; the report may truncate the result. */
export interface Earlier {
  status: ReportStep['status']
  result?: Json
}

export interface Sources {
  params: GivenParams
  earlier: ReadonlyMap<string, Earlier>
}

export type Resolved =
  | { value: Json }
  /** Id of a step without a result: it is planned, failed or skipped. */
  | { without: string }

/**
 * Replaces references, which are whole values; other values stay. Throws `reference_unknown`, and `limit_reached` if the
 * referenced values are too large together, because many references may lead to one large result.
 */
export function resolved(value: Json, sources: Sources): Resolved {
  let bytes = 0
  const take = (referenced: Json): Json => {
    bytes += Buffer.byteLength(JSON.stringify(referenced)) + 1
    if (bytes <= LIMITS.step_references_bytes_max) return referenced
    throw new TurnbellError('limit_reached', {
      detail: `The referenced values of a step have more than ${LIMITS.step_references_bytes_max} bytes in total.`,
      hint: 'Refer to a part of the result: {"$from": "step.path.in.its.result"}.',
    })
  }
  return resolve(value, { ...sources, take })
}

interface CountedSources extends Sources {
  /** Counts the bytes of a referenced value. */
  take: (referenced: Json) => Json
}

function resolve(value: Json, sources: CountedSources): Resolved {
  if (typeof value !== 'object' || value === null) return { value }
  if (Array.isArray(value)) {
    const entries = all(value, sources)
    return 'without' in entries ? entries : { value: entries.values }
  }
  if (isOnly(value, ['$param'])) return { value: sources.take(param(value['$param'], sources.params)) }
  if (isOnly(value, ['$from']) || isOnly(value, ['$from', 'default'])) {
    const referenced = found(value, sources)
    return 'without' in referenced ? referenced : { value: sources.take(referenced.value) }
  }
  const entries = all(Object.values(value), sources)
  if ('without' in entries) return entries
  return { value: Object.fromEntries(Object.keys(value).map((key, at) => [key, entries.values[at] ?? null])) }
}

function all(values: readonly Json[], sources: CountedSources): { values: Json[] } | { without: string } {
  const done: Json[] = []
  for (const value of values) {
    const one = resolve(value, sources)
    if ('without' in one) return one
    done.push(one.value)
  }
  return { values: done }
}

function isOnly(value: { [key: string]: Json }, keys: readonly string[]): boolean {
  return Object.keys(value).length === keys.length && keys.every((key) => Object.hasOwn(value, key))
}

function param(name: Json | undefined, params: GivenParams): Json {
  if (typeof name === 'string' && Object.hasOwn(params, name)) return params[name] as Json
  throw new TurnbellError('reference_unknown', {
    detail: `{"$param": ${shown(name)}}: there is no such parameter. Parameters: ${Object.keys(params).join(', ') || 'none'}.`,
  })
}

function found(reference: { [key: string]: Json }, { earlier }: Sources): Resolved {
  const path_text = reference['$from']
  const [id = '', ...path] = typeof path_text === 'string' ? path_text.split('.') : []
  const step = earlier.get(id)
  if (step === undefined) {
    throw new TurnbellError('reference_unknown', {
      detail: `{"$from": ${shown(path_text)}}: there is no step ${shown(id)} before this one. Earlier steps: ${[...earlier.keys()].join(', ') || 'none'}.`,
    })
  }
  if (step.result === undefined) return { without: id }
  const value = at(step.result, path)
  if (value !== undefined) return { value }
  if (Object.hasOwn(reference, 'default')) return { value: reference['default'] as Json }
  throw new TurnbellError('reference_unknown', {
    detail: `{"$from": ${shown(path_text)}}: there is no such value in the result of ${id}, which has ${outline(step.result)}.`,
  })
}

function at(result: Json, path: readonly string[]): Json | undefined {
  let value: Json | undefined = result
  for (const key of path) {
    // Own properties only, because every object inherits a `constructor`.
    const holds: boolean = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    if (!holds || (Array.isArray(value) && !/^\d+$/.test(key))) return undefined
    value = (value as { [key: string]: Json })[key]
  }
  return value
}

const KEYS_SHOWN_MAX = 12

function outline(result: Json): string {
  if (Array.isArray(result)) return `${result.length} entries`
  if (typeof result !== 'object' || result === null) return 'no fields'
  const keys = Object.keys(result)
  return keys.slice(0, KEYS_SHOWN_MAX).join(', ') + (keys.length > KEYS_SHOWN_MAX ? ', …' : '') || 'no fields'
}

const REFERENCE_LENGTH_MAX = 100

function shown(value: Json | undefined): string {
  const text = JSON.stringify(value ?? null)
  return text.length > REFERENCE_LENGTH_MAX ? `${text.slice(0, REFERENCE_LENGTH_MAX)}…` : text
}
