/** What is really in a store: others write there, so every record is looked at before it is believed. */
import { describeParams } from '../../contracts/describe.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { parsedRecord } from '../../contracts/near-fit.ts'
import type { KeptRecord } from '../../contracts/records.ts'
import type { Log } from '../../ports/log.ts'
import type { HeldRecords, RecordBody, RecordRow, RecordStore } from '../../ports/record-store.ts'
import type { KnownKind } from './kinds.ts'

/**
 * All records of a kind. One that does not fit its kind is set aside with the reason, unless that is
 * for others to judge.
 */
export async function storedRecords(known: KnownKind, store: RecordStore, log: Log): Promise<KeptRecord[]> {
  const { fitting, misfits } = sorted(known, await store.list(known.kind.name))
  const may_write = store.readersMayWrite?.(known.kind.name) !== false
  if (misfits.length > 0 && may_write && known.kind.changed_by === undefined) {
    await store
      .exclusive(known.kind.name, (held) => setMisfitsAside(known, held, misfits))
      .catch((err: unknown) => {
        if (!(err instanceof TurnbellError)) throw err
        log.warn({ err, kind: known.kind.name }, 'records do not fit their kind and could not be set aside')
      })
  }
  return fitting
}

/** The same, in the hands of exclusive work. */
export async function heldRecords(known: KnownKind, held: HeldRecords): Promise<KeptRecord[]> {
  const { fitting, misfits } = sorted(known, await held.list())
  for (const { id, reason } of misfits) await held.setAside(id, reason)
  return fitting
}

/** Null where there is none, or one that does not fit. */
export function fittingRecord(known: KnownKind, row: RecordRow): KeptRecord | null {
  return sorted(known, [row]).fitting[0] ?? null
}

interface Misfit {
  id: string
  reason: string
}

function sorted(known: KnownKind, rows: readonly RecordRow[]): { fitting: KeptRecord[]; misfits: Misfit[] } {
  const fitting: KeptRecord[] = []
  const misfits: Misfit[] = []
  const { told = (body: RecordBody) => body } = known.kind
  for (const [place, { id, body: kept }] of rows.entries()) {
    const body = told(kept, place)
    const read = parsedRecord(known.stored, body)
    if (read.success && body['id'] === id) fitting.push(read.data as KeptRecord)
    else if (read.success)
      misfits.push({ id, reason: `it says that its id is ${JSON.stringify(body['id'])}` })
    else misfits.push({ id, reason: describeParams(known.stored, body, read.error) })
  }
  return { fitting, misfits }
}

/** Somebody may have mended them in the meantime. */
async function setMisfitsAside(known: KnownKind, held: HeldRecords, misfits: Misfit[]): Promise<void> {
  for (const { id } of misfits) {
    const body = await held.get(id)
    if (body === null) continue
    const [misfit] = sorted(known, [{ id, body }]).misfits
    if (misfit !== undefined) await held.setAside(id, misfit.reason)
  }
}
