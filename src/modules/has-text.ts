import { folded } from '../contracts/same-text.ts'
import type { Json } from '../contracts/ids.ts'

/** Whether a text at any depth contains `part`, given as `folded` returns it. Names of fields are not searched. */
export function hasText(value: Json | undefined, part: string): boolean {
  if (typeof value === 'string') return folded(value).includes(part)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((inner) => hasText(inner, part))
}
