/** The generic record store: all declared kinds are put, found, moved, counted and closed by the same rules. */
import { isDeepStrictEqual } from 'node:util'
import {
  changed,
  closed,
  created,
  invalid,
  newFields,
  wantedBy,
  type Fields,
  type ChangeMark,
  type Wanted,
} from './change.ts'
import { createKinds, type Kinds, type KnownKind } from './kinds.ts'
import { matcher, page, type Filter, type Paging } from './query.ts'
import { codecOf } from './record-codec.ts'
import {
  createRecordLocator,
  type RecordCall,
  type RecordLocation,
  type RecordLocator,
  type RecordLocatorDeps,
} from './record-location.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { nearest } from '../../contracts/text/names.ts'
import {
  PORTFOLIO,
  type KeptRecord,
  type RecordKind,
  type RecordPage,
} from '../../contracts/memory/records.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import { callingAgent, agentLabel } from '../lib/calling-agent.ts'
import { createTypedRecords } from '../lib/typed-records.ts'
import { wellFormed } from '../lib/well-formed-json.ts'

export interface RecordQuery extends Partial<Paging> {
  kind: string
  filter?: Filter | undefined
}

/**
 * Every method may throw `kind_unknown` and `project_unknown`; every change also `params_invalid`,
 * `kind_readonly`, `portfolio_readonly` and `store_unavailable`.
 */
export interface Records {
  kinds: Kinds
  /**
   * Creates a record, or with an `id` changes the given fields of that record. For a kind with unique fields, changes the
   * open record with the same values instead. Throws `record_unknown`, `record_too_large` and `transition_forbidden`.
   */
  put(call: RecordCall, input: { kind: string; record: Fields }): Promise<KeptRecord>
  /** Throws `record_unknown`. */
  get(call: RecordCall, input: { kind: string; id: string }): Promise<KeptRecord>
  /** In the portfolio every record contains its `project_id`. */
  query(call: RecordCall, input: RecordQuery): Promise<RecordPage>
  /** Closes a record; idempotent for the same fields. Throws `record_unknown` and `transition_forbidden`. */
  close(
    call: RecordCall,
    input: { kind: string; id: string; fields?: Fields | undefined },
  ): Promise<KeptRecord>
  /** Throws `record_unknown`, and `transition_forbidden` with the possible statuses. */
  move(call: RecordCall, input: { kind: string; id: string; to: string }): Promise<KeptRecord>
  /** Adds a value to a list unless it contains it. Throws `record_unknown` and `record_too_large`. */
  addTo(
    call: RecordCall,
    input: { kind: string; id: string; field: string; value: string },
  ): Promise<KeptRecord>
  /** Throws `record_unknown` with the nearest id if there is no such record. */
  requireOne(call: RecordCall, input: { kind: string; id: string; field: string }): Promise<void>
  /** Adds to a number atomically. Throws `record_unknown`. */
  increment(
    call: RecordCall,
    input: { kind: string; id: string; field: string; by?: number | undefined },
  ): Promise<KeptRecord>
}

export interface RecordDeps extends RecordLocatorDeps {
  kinds: readonly RecordKind[]
  events: Pick<EventLog, 'append'>
  clock: Clock
  ids: Ids
  log: Log
}

export function createRecords(deps: RecordDeps): Records {
  const kinds = createKinds(deps.kinds)
  const locator = createRecordLocator(deps)
  const changes = createChanges({ ...deps, kinds, locator })
  const { changeOne, requireOne } = changes
  return {
    kinds,
    requireOne,
    ...createReads({ kinds, locator, log: deps.log }),

    async put(call, { kind, record }) {
      const known = writable(kinds.get(kind))
      const { id, ...given } = wantedBy(known, record)
      const { agent_id } = given
      const wanted =
        agent_id === undefined ? given : { ...given, agent_id: agentLabel(call.caller, agent_id) }
      if (id === undefined) return changes.putNew(call, known, wanted)
      const stored = await locator.forWrite(call, known.kind).records.get(kind, id)
      if (stored !== null) await changes.requireLinks(call, wanted.fields, stored as KeptRecord)
      return changeOne(call, kind, id, (before, _, mark) => changed(known, before, wanted, mark))
    },

    close: (call, { kind, id, fields = {} }) =>
      changeOne(call, kind, id, (before, known, mark) => closed(known, before, fields, mark)),

    move: (call, { kind, id, to }) =>
      changeOne(call, kind, id, (before, known, mark) => {
        const wanted = wantedBy(known, { status: to })
        return before.status === to ? before : changed(known, before, wanted, mark)
      }),

    addTo: (call, { kind, id, field, value }) =>
      changeOne(call, kind, id, (before, known, mark) => {
        const list = before[field] ?? []
        if (!Array.isArray(list)) throw invalid(known, `${field}: expected a list`)
        if (list.includes(value)) return before
        return changed(known, before, { fields: { [field]: [...list, value] } }, mark)
      }),

    increment: (call, { kind, id, field, by = 1 }) =>
      changeOne(call, kind, id, (before, known, mark) => {
        const count = before[field]
        if (typeof count !== 'number') throw invalid(known, `${field}: expected a number`)
        return changed(known, before, { fields: { [field]: count + by } }, mark)
      }),
  }
}

interface RecordParts {
  kinds: Kinds
  locator: RecordLocator
  log: Log
}

function createReads({ kinds, locator, log }: RecordParts): Pick<Records, 'get' | 'query'> {
  return {
    async get(call, { kind, id }) {
      const known = kinds.get(kind)
      for (const { records } of locator.forRead(call, known.kind)) {
        const record = await createTypedRecords(records, codecOf(known), log).get(id)
        if (record !== null) return record
      }
      throw unknownRecord(known, id)
    },

    async query(
      call,
      { kind, filter = {}, sort = '-generation', limit = LIMITS.records_page_default, after },
    ) {
      const known = kinds.get(kind)
      const matches = matcher(known, filter)
      const locations = locator.forRead(call, known.kind)
      const several = call.context.scope === PORTFOLIO && known.kind.keeper === 'project'
      const found: KeptRecord[] = []
      for (const { project_id, records } of locations) {
        for (const record of await createTypedRecords(records, codecOf(known), log).list()) {
          if (matches(record)) found.push(several ? ({ ...record, project_id } as KeptRecord) : record)
        }
      }
      return page(found, { sort, limit, after })
    },
  }
}

/** A change of one record, or a new one. */
interface RecordChange {
  /** Null for a new record. */
  before: KeptRecord | null
  /** The same object as `before` if nothing changes. */
  after: KeptRecord
}

function createChanges({
  kinds,
  locator,
  events,
  clock,
  ids,
  log,
}: RecordParts & Pick<RecordDeps, 'events' | 'clock' | 'ids'>) {
  /** Reads, decides and writes exclusively, so that the decision is still valid and no generation is used twice. */
  const change = async (
    call: RecordCall,
    known: KnownKind,
    found: RecordLocation,
    decide: (records: readonly KeptRecord[], mark: ChangeMark) => RecordChange,
  ): Promise<KeptRecord> => {
    const location = await locator.register(found)
    const typed = createTypedRecords(location.records, codecOf(known), log)
    const done = await typed.exclusive(async (held) => {
      const records = await held.list()
      await held.quarantineInvalid()
      const generation = 1 + records.reduce((most, record) => Math.max(most, record.generation), 0)
      const { before, after } = decide(records, { now: timestamp(clock), generation })
      if (after === before) return { before, after }
      const stored = wellFormed(after)
      await held.put(stored)
      return { before, after: stored }
    })
    if (done.after !== done.before) announce(events, call, known, location, done)
    return done.after
  }

  const changeOne = async (
    call: RecordCall,
    kind: string,
    id: string,
    update: (record: KeptRecord, known: KnownKind, mark: ChangeMark) => KeptRecord,
  ): Promise<KeptRecord> => {
    const known = writable(kinds.get(kind))
    const location = locator.forWrite(call, known.kind)
    // Checked before a lock is taken or a folder is created.
    if ((await location.records.get(kind, id)) === null) throw unknownRecord(known, id)
    return change(call, known, location, (records, mark) => {
      const before = records.find((record) => record.id === id)
      if (before === undefined) throw unknownRecord(known, id)
      return { before, after: update(before, known, mark) }
    })
  }

  const { requireOne, requireLinks } = createLinkChecks({ kinds, locator })

  const putNew = async (call: RecordCall, known: KnownKind, wanted: Wanted): Promise<KeptRecord> => {
    // Validated before a folder is created.
    const fields = newFields(known, wanted.fields)
    const location = locator.forWrite(call, known.kind)
    await requireLinks(call, wanted.fields, null)
    return change(call, known, location, (records, mark) => {
      const before = openDuplicate(known, records, fields)
      if (before !== null) return { before, after: changed(known, before, wanted, mark) }
      const agent_id = wanted.agent_id ?? callingAgent(call)
      return { before, after: created(known, wanted, { ...mark, id: ids.next(), agent_id }) }
    })
  }

  return { changeOne, putNew, requireOne, requireLinks }
}

function announce(
  events: RecordDeps['events'],
  call: RecordCall,
  { kind }: KnownKind,
  { project_id }: RecordLocation,
  { before, after }: RecordChange,
): void {
  const { id, generation, status = null } = after
  const end = kind.status?.closing?.to
  const is_closed = end !== undefined && after.status === end && before?.status !== end
  events.append({
    type: is_closed ? 'record.closed' : 'record.put',
    agent_id: call.caller.identity,
    data: { kind: kind.name, id, generation, status, project_id },
  })
}

function createLinkChecks({ kinds, locator }: Pick<RecordParts, 'kinds' | 'locator'>) {
  const requireOne: Records['requireOne'] = async (call, { kind, id, field }) => {
    const { records } = locator.forWrite(call, kinds.get(kind).kind)
    if ((await records.get(kind, id)) !== null) return
    const by_lower_case = new Map((await records.list(kind)).map((row) => [row.id.toLowerCase(), row.id]))
    const similar = by_lower_case.get(nearest(id.toLowerCase(), by_lower_case.keys()) ?? '')
    throw new TurnbellError('record_unknown', {
      detail: `${field}: there is no ${kind} ${id} here.`,
      ...(similar === undefined ? {} : { hint: `Did you mean ${similar}?` }),
    })
  }

  /** Checks fields such as `epic_id`, which hold the id of a record of that kind. Unchanged values are not checked. */
  const requireLinks = async (call: RecordCall, fields: Fields, before: KeptRecord | null): Promise<void> => {
    for (const [field, value] of Object.entries(fields)) {
      const kind = /^([a-z_]+)_id$/.exec(field)?.[1]
      if (kind === undefined || typeof value !== 'string' || before?.[field] === value) continue
      if (kinds.list().some((known) => known.kind.name === kind))
        await requireOne(call, { kind, id: value, field })
    }
  }

  return { requireOne, requireLinks }
}

/** Returns the open record with the same unique fields. */
function openDuplicate(known: KnownKind, records: readonly KeptRecord[], fields: Fields): KeptRecord | null {
  const { unique, status } = known.kind
  if (unique === undefined) return null
  const same = (record: KeptRecord) =>
    (status === undefined || record.status !== status.closing?.to) &&
    unique.every((field) => isDeepStrictEqual(record[field], fields[field]))
  return records.find(same) ?? null
}

/** Throws `kind_readonly` for a kind that only one facade changes. */
function writable(known: KnownKind): KnownKind {
  const { name, changed_by } = known.kind
  if (changed_by === undefined) return known
  throw new TurnbellError('kind_readonly', {
    detail: `Records of the kind ${name} are created and changed only by the actions of ${changed_by}.`,
    hint: `List them with tool_describe ${changed_by}.`,
  })
}

function unknownRecord({ kind }: KnownKind, id: string): TurnbellError {
  return new TurnbellError('record_unknown', { detail: `There is no ${kind.name} ${id} here.` })
}
