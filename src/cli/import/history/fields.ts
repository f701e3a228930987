/** Reads fields of JSON that other programs wrote: everything may be missing or have another type. */
import type { Json } from '../../../contracts/ids.ts'

export type Fields = Readonly<Record<string, unknown>>

const NOTHING: Fields = {}

/** Returns the object, or an empty one for any other value. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : NOTHING
}

/** Returns a text that is not empty, otherwise undefined. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Returns a whole number from 0, otherwise undefined. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

/** Shortens a client's word or id to the length that a report may contain. */
export function wordOf(value: unknown): string | undefined {
  return textOf(value)?.slice(0, WORD_MAX)
}
const WORD_MAX = 256

/** Joins the texts of message content: a text, or a list of blocks. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((block) => textOf(block['text']) ?? '')
    .filter((text) => text !== '')
    .join('\n')
}

/** Removes undefined fields. */
export function given<Value extends object>(
  value: Value,
): { [Key in keyof Value]: Exclude<Value[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as never
}

/** Parses the JSON text of a tool's arguments; another text is returned as it is. */
export function argumentsOf(text: unknown): Json | undefined {
  if (typeof text !== 'string') return text as Json | undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
