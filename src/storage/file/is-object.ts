import type { RecordBody } from '../../ports/record-store.ts'

export function isObject(value: unknown): value is RecordBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
