/** Computes new and changed records. Pure: without store and clock. */
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import {
  COMMON_FIELDS,
  RecordAgent,
  RecordScope,
  SCOPE_DEFAULT,
  type KeptRecord,
} from '../../contracts/memory/records.ts'
import { statusesBefore, type KnownKind } from './kinds.ts'
import { defined } from '../lib/defined.ts'

export type Fields = Record<string, Json>

/** The requested change of a put, a move or a close. */
export interface Wanted {
  fields: Fields
  scope?: string | undefined
  agent_id?: string | undefined
  status?: string | undefined
}

/** Time and generation of a change. */
export interface ChangeMark {
  now: string
  generation: number
}

const CommonInput = z.object({
  id: COMMON_FIELDS.id.optional(),
  scope: RecordScope.optional(),
  agent_id: RecordAgent.optional(),
  status: z.string().optional(),
})

/** Splits the input of a put into common and own fields. Throws `params_invalid`. */
export function wantedBy(known: KnownKind, record: Fields): Wanted & { id?: string | undefined } {
  const { id, scope, agent_id, status, ...fields } = record
  const common = fitting(known, CommonInput, { id, scope, agent_id, status })
  if (common.status !== undefined && known.statuses.length === 0) {
    throw invalid(known, `status: a ${known.kind.name} has no status`)
  }
  if (common.status !== undefined && !known.statuses.includes(common.status)) {
    throw invalid(known, `status: expected one of ${known.statuses.join(', ')}, found "${common.status}"`)
  }
  return { ...common, fields }
}

/** Returns the own fields of a new record with their defaults. Throws `params_invalid`. */
export function newFields(known: KnownKind, fields: Fields): Fields {
  return fitting(known, known.kind.fields, fields) as Fields
}

export function created(
  known: KnownKind,
  wanted: Wanted,
  mark: ChangeMark & { id: string; agent_id: string },
): KeptRecord {
  const { kind } = known
  const fields = newFields(known, wanted.fields)
  const initial = kind.status?.initial
  if (wanted.status !== undefined && wanted.status !== initial) {
    throw new TurnbellError('transition_forbidden', {
      detail: `A new ${kind.name} is ${initial}, not ${wanted.status}.`,
      hint: 'Put the record without a status, then move it.',
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
 * Replaces fields; null removes an optional one. Fields that the kind does not declare stay, because a person added them.
 * Throws `params_invalid` and `transition_forbidden`.
 */
export function changed(known: KnownKind, record: KeptRecord, wanted: Wanted, mark: ChangeMark): KeptRecord {
  const names = Object.keys(known.own.shape)
  const all = Object.entries(record as Fields)
  const before = all.filter(([name]) => names.includes(name))
  const given = Object.entries(wanted.fields).filter(([, value]) => value !== undefined)
  const merged = Object.fromEntries([...before, ...given].filter(keeps(known, wanted.fields)))
  const fields = fitting(known, known.own, merged) as Fields
  const status = wanted.status ?? record.status
  if (status !== undefined && status !== record.status) assertMoveAllowed(known, record, status, fields)

  const others = all.filter(([name]) => !names.includes(name))
  return bounded(known, {
    ...Object.fromEntries(others),
    ...defined({ status, scope: wanted.scope, agent_id: wanted.agent_id }),
    updated_at: mark.now,
    generation: mark.generation,
    ...fields,
  })
}

/** Null removes a field, unless null is a valid value of the field. */
function keeps(known: KnownKind, given: Fields) {
  return ([name]: [string, Json]) => {
    if (given[name] !== null) return true
    const field = known.own.shape[name] as z.ZodType | undefined
    return field === undefined || field.safeParse(null).success
  }
}

/** Throws unless the status may follow the current one and the record has the fields required for closing. */
function assertMoveAllowed(known: KnownKind, record: KeptRecord, status: string, fields: Fields): void {
  const { kind } = known
  const from = record.status ?? ''
  const allowed = kind.status?.moves[from] ?? []
  if (!allowed.includes(status)) {
    const possible = allowed.length === 0 ? 'to no other status' : `only to ${allowed.join(', ')}`
    const before = kind.status === undefined ? [] : statusesBefore(kind.status, status)
    throw new TurnbellError('transition_forbidden', {
      detail: `The ${kind.name} ${record.id} is ${from} and can move ${possible}, not to ${status}.`,
      ...(before.length === 0
        ? {}
        : { hint: `A ${kind.name} can move to ${status} from ${before.join(' or ')}.` }),
    })
  }
  const closing = kind.status?.closing
  if (closing?.to !== status) return
  const given = Object.entries(fields).filter(([name]) => name in (closing.fields ?? {}))
  fitting(known, z.strictObject(closing.fields ?? {}), Object.fromEntries(given))
}

/**
 * Closes a record. Closing again with the same fields is idempotent. Throws `transition_forbidden` for other fields and
 * for a kind without a closing status.
 */
export function closed(known: KnownKind, record: KeptRecord, given: Fields, mark: ChangeMark): KeptRecord {
  const { kind } = known
  const closing = kind.status?.closing
  if (closing === undefined) {
    throw new TurnbellError('transition_forbidden', {
      detail: `A ${kind.name} cannot be closed.`,
      hint: 'Close only kinds whose description names a closing status.',
    })
  }
  const fields = fitting(known, z.strictObject(closing.fields ?? {}), given) as Fields
  if (record.status !== closing.to) return changed(known, record, { status: closing.to, fields }, mark)
  if (Object.entries(fields).every(([name, value]) => isDeepStrictEqual(record[name], value))) return record
  throw new TurnbellError('transition_forbidden', {
    detail: `The ${kind.name} ${record.id} is already ${closing.to} with other fields.`,
    hint: 'Read the record, then change its fields with put.',
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

/** Returns the record as its JSON represents it, so that the response equals what is read from the disk later. */
function bounded(known: KnownKind, record: Fields): KeptRecord {
  const text = JSON.stringify(record)
  const bytes = Buffer.byteLength(text)
  if (bytes <= LIMITS.record_bytes_max) return JSON.parse(text) as KeptRecord
  throw new TurnbellError('record_too_large', {
    detail: `The ${known.kind.name} has ${bytes} bytes; ${LIMITS.record_bytes_max} are allowed.`,
  })
}
