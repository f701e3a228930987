/** The parsed content of another tool's folder: items to import, and items that are not readable. */
import type { ImportInput, ImportSort } from '../../contracts/memory/import.ts'

/** Location of an item, relative to the folder. */
export interface Location {
  file: string
  /** Line of the file, counted from 1. */
  line?: number
  /** Position in a list, counted from 1. */
  item?: number
}

export interface ParsedItem extends Location {
  sort: ImportSort
  value: ImportInput['entries'][number]
  /** Day of an archived entry. */
  day?: string
}

export interface Unread extends Location {
  id?: string
  reason: string
}

export interface ParsedImport {
  items: ParsedItem[]
  unread: Unread[]
  /** Names of entries that are not imported. */
  left_out: string[]
}
