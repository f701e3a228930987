import { folded } from '../contracts/same-text.ts'
import type { Json } from '../contracts/ids.ts'

/** Whether any text in it, however deep, has this part; names of fields are none of what it says. `part`: as `folded` returns it. */
export function hasText(value: Json | undefined, part: string): boolean {
  if (typeof value === 'string') return folded(value).includes(part)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((inner) => hasText(inner, part))
}
