/** What a record becomes by a change. Pure: the store, the clock and the caller are somebody else's. */
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { describeParams } from '../../contracts/describe.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import {
  COMMON_FIELDS,
  RecordAgent,
  RecordScope,
  SCOPE_DEFAULT,
  type KeptRecord,
} from '../../contracts/records.ts'
import { statusesBefore, type KnownKind } from './kinds.ts'

export type Fields = Record<string, Json>

/** What a put, a move or a close asks for. */
export interface Wanted {
  fields: Fields
  scope?: string | undefined
  agent_id?: string | undefined
  status?: string | undefined
}

/** What a change is marked with. */
export interface Mark {
  now: string
  generation: number
}

const CommonInput = z.object({
  id: COMMON_FIELDS.id.optional(),
  scope: RecordScope.optional(),
  agent_id: RecordAgent.optional(),
  status: z.string().optional(),
})

/** Takes apart what a caller calls a record. Throws `params_invalid`. */
export function wantedBy(known: KnownKind, record: Fields): Wanted & { id?: string | undefined } {
  const { id, scope, agent_id, status, ...fields } = record
  const common = fitting(known, CommonInput, { id, scope, agent_id, status })
  if (common.status !== undefined && known.statuses.length === 0) {
    throw invalid(known, `status: a ${known.kind.name} has none`)
  }
  if (common.status !== undefined && !known.statuses.includes(common.status)) {
    throw invalid(known, `status: expected one of ${known.statuses.join(', ')}, found "${common.status}"`)
  }
  return { ...common, fields }
}

/** A new record's own fields, with their defaults. Throws `params_invalid`. */
export function newFields(known: KnownKind, fields: Fields): Fields {
  return fitting(known, known.kind.fields, fields) as Fields
}

export function created(
  known: KnownKind,
  wanted: Wanted,
  mark: Mark & { id: string; agent_id: string },
): KeptRecord {
  const { kind } = known
  const fields = newFields(known, wanted.fields)
  const initial = kind.status?.initial
  if (wanted.status !== undefined && wanted.status !== initial) {
    throw new TurnbellError('transition_forbidden', {
      detail: `A new ${kind.name} is ${initial}, not ${wanted.status}.`,
      hint: `Put it without a status, then move it.`,
    })
  }
  return bounded(known, {
    id: mark.id,
    kind: kind.name,
    ...(initial === undefined ? {} : { status: initial }),
    scope: wanted.scope ?? SCOPE_DEFAULT,
    agent_id: mark.agent_id,
    created_at: mark.now,
    updated_at: mark.now,
    generation: mark.generation,
    ...fields,
  })
}

/**
 * The given fields replace those of the same name; null takes an optional one away. What stands in the
 * record and is no field of the kind stays: somebody put it there. Throws `params_invalid` and
 * `transition_forbidden`.
 */
export function changed(known: KnownKind, record: KeptRecord, wanted: Wanted, mark: Mark): KeptRecord {
  const names = Object.keys(known.own.shape)
  const all = Object.entries(record as Fields)
  const before = all.filter(([name]) => names.includes(name))
  const given = Object.entries(wanted.fields).filter(([, value]) => value !== undefined)
  const merged = Object.fromEntries([...before, ...given].filter(keeps(known, wanted.fields)))
  const fields = fitting(known, known.own, merged) as Fields
  const status = wanted.status ?? record.status
  if (status !== undefined && status !== record.status) requireMove(known, record, status, fields)

  const others = all.filter(([name]) => !names.includes(name))
  return bounded(known, {
    ...Object.fromEntries(others),
    ...(status === undefined ? {} : { status }),
    ...(wanted.scope === undefined ? {} : { scope: wanted.scope }),
    ...(wanted.agent_id === undefined ? {} : { agent_id: wanted.agent_id }),
    updated_at: mark.now,
    generation: mark.generation,
    ...fields,
  })
}

/** Null takes a field away, unless it is one of the field's own values. */
function keeps(known: KnownKind, given: Fields) {
  return ([name]: [string, Json]) => {
    if (given[name] !== null) return true
    const field = known.own.shape[name] as z.ZodType | undefined
    return field === undefined || field.safeParse(null).success
  }
}

/** Throws unless the record may go to this status, and has what closing it needs. */
function requireMove(known: KnownKind, record: KeptRecord, status: string, fields: Fields): void {
  const { kind } = known
  const from = record.status ?? ''
  const allowed = kind.status?.moves[from] ?? []
  if (!allowed.includes(status)) {
    const ways = allowed.length === 0 ? 'it stays so' : `it can go to ${allowed.join(', ')}`
    const before = kind.status === undefined ? [] : statusesBefore(kind.status, status)
    throw new TurnbellError('transition_forbidden', {
      detail: `The ${kind.name} ${record.id} is ${from}: ${ways}, not to ${status}.`,
      ...(before.length === 0 ? {} : { hint: `Only one that is ${before.join(' or ')} goes there.` }),
    })
  }
  const closing = kind.status?.closing
  if (closing?.to !== status) return
  const told = Object.entries(fields).filter(([name]) => name in (closing.fields ?? {}))
  fitting(known, z.strictObject(closing.fields ?? {}), Object.fromEntries(told))
}

/**
 * The one transition that ends it. Whoever closes a second time what is closed may have missed the first
 * answer; but one that says something else comes too late. Throws also for a kind that is never closed.
 */
export function closed(known: KnownKind, record: KeptRecord, told: Fields, mark: Mark): KeptRecord {
  const { kind } = known
  const closing = kind.status?.closing
  if (closing === undefined) {
    throw new TurnbellError('transition_forbidden', {
      detail: `A ${kind.name} is never closed.`,
      hint: 'Only kinds whose description names a closing status are.',
    })
  }
  const fields = fitting(known, z.strictObject(closing.fields ?? {}), told) as Fields
  if (record.status !== closing.to) return changed(known, record, { status: closing.to, fields }, mark)
  if (Object.entries(fields).every(([name, value]) => isDeepStrictEqual(record[name], value))) return record
  throw new TurnbellError('transition_forbidden', {
    detail: `The ${kind.name} ${record.id} is ${closing.to} already, and says otherwise.`,
    hint: 'Read it first. What it says can still be put.',
  })
}

function fitting<T>(known: KnownKind, schema: z.ZodType<T>, fields: unknown): T {
  const parsed = schema.safeParse(fields)
  if (parsed.success) return parsed.data
  throw invalid(known, describeParams(schema, fields, parsed.error), parsed.error)
}

export function invalid(known: KnownKind, what: string, cause?: unknown): TurnbellError {
  return new TurnbellError('params_invalid', {
    detail: `${known.kind.name}: ${what}`,
    ...(cause === undefined ? {} : { cause }),
  })
}

/** What a record keeps is what its JSON says: what is read tomorrow from the disk is what is told today. */
function bounded(known: KnownKind, record: Fields): KeptRecord {
  const text = JSON.stringify(record)
  const bytes = Buffer.byteLength(text)
  if (bytes <= LIMITS.record_bytes_max) return JSON.parse(text) as KeptRecord
  throw new TurnbellError('record_too_large', {
    detail: `This ${known.kind.name} would have ${bytes} bytes; ${LIMITS.record_bytes_max} are allowed.`,
  })
}
