/** Searches the texts inside a record. */
import { foldCase } from '../../contracts/text/same-text.ts'
import type { Json } from '../../contracts/ids.ts'

/** Whether a string at any depth contains `part`, which must be the result of `foldCase`. Field names are not searched. */
export function containsText(value: Json | undefined, part: string): boolean {
  if (typeof value === 'string') return foldCase(value).includes(part)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((inner) => containsText(inner, part))
}
