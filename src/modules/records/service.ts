/** The generic record store: any declared kind is put, found, moved, counted and closed by the same rules. */
import { isDeepStrictEqual } from 'node:util'
import {
  changed,
  closed,
  created,
  invalid,
  newFields,
  wantedBy,
  type Fields,
  type Mark,
  type Wanted,
} from './change.ts'
import { createKinds, type Kinds, type KnownKind } from './kinds.ts'
import { matcher, page, type Filter, type Paging } from './query.ts'
import { fittingRecord, heldRecords, storedRecords } from './stored.ts'
import { createWhere, type Place, type RecordCall, type WhereNeeds } from './where.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { nearest } from '../../contracts/names.ts'
import { PORTFOLIO, type KeptRecord, type RecordKind, type RecordPage } from '../../contracts/records.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import { agentOf } from '../agent-of.ts'
import { wellFormed } from '../well-formed.ts'

export interface RecordQuery extends Partial<Paging> {
  kind: string
  filter?: Filter | undefined
}

/**
 * Every call may throw `kind_unknown` and `project_unknown`; every change also `params_invalid`,
 * `kind_readonly`, `portfolio_readonly` and `store_unavailable`.
 */
export interface Records {
  kinds: Kinds
  /**
   * A new record; or, with an `id`, a change of that one, whose other fields stay. A kind that is unique by
   * some fields changes the record that has the same in them and is not closed. Throws `record_unknown`,
   * `record_too_large` and `transition_forbidden`.
   */
  put(call: RecordCall, input: { kind: string; record: Fields }): Promise<KeptRecord>
  /** Throws `record_unknown`. */
  get(call: RecordCall, input: { kind: string; id: string }): Promise<KeptRecord>
  /** In the portfolio every record says its `project_id`. */
  query(call: RecordCall, input: RecordQuery): Promise<RecordPage>
  /**
   * The one transition that ends a record of its kind. Closing what is closed is harmless unless it says
   * something else. Throws `record_unknown` and `transition_forbidden`.
   */
  close(
    call: RecordCall,
    input: { kind: string; id: string; fields?: Fields | undefined },
  ): Promise<KeptRecord>
  /** Throws `record_unknown` and `transition_forbidden`, naming the statuses it can go to. */
  move(call: RecordCall, input: { kind: string; id: string; to: string }): Promise<KeptRecord>
  /** Adds a value to a list, unless it is in it. Throws `record_unknown` and `record_too_large`. */
  addTo(
    call: RecordCall,
    input: { kind: string; id: string; field: string; value: string },
  ): Promise<KeptRecord>
  /** Throws `record_unknown` with the id that was probably meant, unless there is a record of this kind. */
  requireOne(call: RecordCall, input: { kind: string; id: string; field: string }): Promise<void>
  /** Adds to a number. No count is lost, whoever else counts. Throws `record_unknown`. */
  increment(
    call: RecordCall,
    input: { kind: string; id: string; field: string; by?: number | undefined },
  ): Promise<KeptRecord>
}

export interface RecordNeeds extends WhereNeeds {
  kinds: readonly RecordKind[]
  events: Pick<EventLog, 'append'>
  clock: Clock
  ids: Ids
  log: Log
}

export function createRecords(needs: RecordNeeds): Records {
  const { events, clock, ids, log } = needs
  const kinds = createKinds(needs.kinds)
  const where = createWhere(needs)

  const tell = (call: RecordCall, known: KnownKind, place: Place, record: KeptRecord, ended: boolean) => {
    const { id, generation, status = null } = record
    events.append({
      type: ended ? 'record.closed' : 'record.put',
      agent_id: call.caller.identity,
      data: { kind: known.kind.name, id, generation, status, project_id: place.project_id },
    })
  }

  /**
   * One change of one record. Reads, decides and writes while nobody else writes this kind, so that what was
   * decided on is still true, and no generation is given twice.
   */
  const change = async (
    call: RecordCall,
    known: KnownKind,
    found: Place,
    what: (records: KeptRecord[], mark: Mark) => { before: KeptRecord | null; after: KeptRecord },
  ): Promise<KeptRecord> => {
    const place = await where.known(found)
    const { before, after } = await place.records.exclusive(known.kind.name, async (held) => {
      const records = await heldRecords(known, held)
      const generation = 1 + records.reduce((most, record) => Math.max(most, record.generation), 0)
      const done = what(records, { now: timestamp(clock), generation })
      if (done.after === done.before) return done
      const after = wellFormed(done.after)
      await held.put(after.id, after)
      return { ...done, after }
    })
    if (after === before) return after
    const end = known.kind.status?.closing?.to
    tell(call, known, place, after, end !== undefined && after.status === end && before?.status !== end)
    return after
  }

  const changeOne = async (
    call: RecordCall,
    kind: string,
    id: string,
    what: (record: KeptRecord, known: KnownKind, mark: Mark) => KeptRecord,
  ): Promise<KeptRecord> => {
    const known = forAll(kinds.get(kind))
    const place = where.toWrite(call, known.kind)
    // Before anything is locked or made: what is not there cannot be changed.
    if ((await place.records.get(kind, id)) === null) throw unknown(known, id)
    return change(call, known, place, (records, mark) => {
      const before = records.find((record) => record.id === id)
      if (before === undefined) throw unknown(known, id)
      return { before, after: what(before, known, mark) }
    })
  }

  const requireOne: Records['requireOne'] = async (call, { kind, id, field }) => {
    const { records } = where.toWrite(call, kinds.get(kind).kind)
    if ((await records.get(kind, id)) !== null) return
    const ids = new Map((await records.list(kind)).map((row) => [row.id.toLowerCase(), row.id]))
    const meant = ids.get(nearest(id.toLowerCase(), ids.keys()) ?? '')
    throw new TurnbellError('record_unknown', {
      detail: `${field}: there is no ${kind} ${id} here.`,
      ...(meant === undefined ? {} : { hint: `Did you mean ${meant}?` }),
    })
  }

  /** Fields such as `epic_id` hold the id of a record of that kind. A value that was there before is left alone. */
  const requireLinks = async (call: RecordCall, fields: Fields, before: KeptRecord | null): Promise<void> => {
    for (const [field, value] of Object.entries(fields)) {
      const kind = /^([a-z_]+)_id$/.exec(field)?.[1]
      if (kind === undefined || typeof value !== 'string' || before?.[field] === value) continue
      if (kinds.list().some((known) => known.kind.name === kind))
        await requireOne(call, { kind, id: value, field })
    }
  }

  const putNew = async (call: RecordCall, known: KnownKind, wanted: Wanted): Promise<KeptRecord> => {
    // Refused before a folder is made for it.
    const fields = newFields(known, wanted.fields)
    const place = where.toWrite(call, known.kind)
    await requireLinks(call, wanted.fields, null)
    return change(call, known, place, (records, mark) => {
      const before = sameOne(known, records, fields)
      if (before !== null) return { before, after: changed(known, before, wanted, mark) }
      const agent_id = wanted.agent_id ?? agentOf(call)
      return { before, after: created(known, wanted, { ...mark, id: ids.next(), agent_id }) }
    })
  }

  return {
    kinds,

    async put(call, { kind, record }) {
      const known = forAll(kinds.get(kind))
      const { id, ...wanted } = wantedBy(known, record)
      if (id === undefined) return putNew(call, known, wanted)
      const stored = await where.toWrite(call, known.kind).records.get(kind, id)
      if (stored !== null) await requireLinks(call, wanted.fields, stored as KeptRecord)
      return changeOne(call, kind, id, (before, _, mark) => changed(known, before, wanted, mark))
    },

    async get(call, { kind, id }) {
      const known = kinds.get(kind)
      for (const { records } of where.toRead(call, known.kind)) {
        const body = await records.get(kind, id)
        const record = body === null ? null : fittingRecord(known, { id, body })
        if (record !== null) return record
      }
      throw unknown(known, id)
    },

    async query(
      call,
      { kind, filter = {}, sort = '-generation', limit = LIMITS.records_page_default, after },
    ) {
      const known = kinds.get(kind)
      const matches = matcher(known, filter)
      const places = where.toRead(call, known.kind)
      const several = call.context.scope === PORTFOLIO && known.kind.keeper === 'project'
      const found: KeptRecord[] = []
      for (const { project_id, records } of places) {
        for (const record of await storedRecords(known, records, log)) {
          if (matches(record)) found.push(several ? ({ ...record, project_id } as KeptRecord) : record)
        }
      }
      return page(found, { sort, limit, after })
    },

    close: (call, { kind, id, fields = {} }) =>
      changeOne(call, kind, id, (before, known, mark) => closed(known, before, fields, mark)),

    move: (call, { kind, id, to }) =>
      changeOne(call, kind, id, (before, known, mark) => {
        const wanted = wantedBy(known, { status: to })
        return before.status === to ? before : changed(known, before, wanted, mark)
      }),

    requireOne,

    addTo: (call, { kind, id, field, value }) =>
      changeOne(call, kind, id, (before, known, mark) => {
        const list = before[field] ?? []
        if (!Array.isArray(list)) throw invalid(known, `${field}: expected a list to add to, found none`)
        if (list.includes(value)) return before
        return changed(known, before, { fields: { [field]: [...list, value] } }, mark)
      }),

    increment: (call, { kind, id, field, by = 1 }) =>
      changeOne(call, kind, id, (before, known, mark) => {
        const count = before[field]
        if (typeof count !== 'number')
          throw invalid(known, `${field}: expected a number to add to, found none`)
        return changed(known, before, { fields: { [field]: count + by } }, mark)
      }),
  }
}

/** The open record that a unique kind would double. */
function sameOne(known: KnownKind, records: readonly KeptRecord[], fields: Fields): KeptRecord | null {
  const { unique, status } = known.kind
  if (unique === undefined) return null
  const same = (record: KeptRecord) =>
    (status === undefined || record.status !== status.closing?.to) &&
    unique.every((field) => isDeepStrictEqual(record[field], fields[field]))
  return records.find(same) ?? null
}

/** Throws `kind_readonly`. */
function forAll(known: KnownKind): KnownKind {
  const { name, changed_by } = known.kind
  if (changed_by === undefined) return known
  throw new TurnbellError('kind_readonly', {
    detail: `A ${name} is made and changed by the actions of ${changed_by}, and only found by those of others.`,
    hint: `tool_describe ${changed_by} tells which they are.`,
  })
}

function unknown({ kind }: KnownKind, id: string): TurnbellError {
  return new TurnbellError('record_unknown', { detail: `There is no ${kind.name} ${id} here.` })
}
