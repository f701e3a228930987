/** What was found in another tool's folder: items that say something, and what cannot be read. */
import type { ImportInput, ImportSort } from '../../contracts/import.ts'

/** Where it stands, from the folder that was named. */
export interface Spot {
  file: string
  /** Counted from 1: a line, or an item of a list. */
  line?: number
  item?: number
}

export interface FoundItem extends Spot {
  sort: ImportSort
  value: ImportInput['entries'][number]
  /** Of an archived entry. */
  day?: string
}

export interface Unread extends Spot {
  id?: string
  reason: string
}

export interface Found {
  items: FoundItem[]
  unread: Unread[]
  /** What is there and is not taken over, by its name. */
  left_out: string[]
}
