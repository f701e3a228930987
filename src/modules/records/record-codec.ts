/** Codec of a declared kind. Other programs write to a store too, so every record is validated before it is used. */
import type { KeptRecord } from '../../contracts/memory/records.ts'
import type { RecordBody } from '../../ports/record-store.ts'
import { decodeWith, type Decode, type RecordCodec } from '../lib/typed-records.ts'
import type { KnownKind } from './kinds.ts'

/** A kind with `changed_by` is only read here; its owner quarantines invalid records. */
export function codecOf({ kind, stored }: KnownKind): RecordCodec<KeptRecord> {
  const { toRecord = (body: RecordBody) => body } = kind
  const decode: Decode<KeptRecord> = ({ id, body }, index) => {
    const decoded = decodeWith(stored, { id, body: toRecord(body, index) }, (item) => String(item['id']))
    return 'item' in decoded ? { item: decoded.item as KeptRecord } : decoded
  }
  return {
    kind: kind.name,
    decoder: () => decode,
    encode: (record) => ({ id: record.id, body: record }),
    quarantines: kind.changed_by === undefined,
  }
}
