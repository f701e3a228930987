/** From git's bytes to bounded answers: fields, times, cut texts and lists that fit. */
import { LIMITS } from '../../contracts/limits.ts'
import type { GitOutput } from '../../ports/git.ts'

// A byte order mark may begin a name or a line like any other character.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** Bytes that are no UTF-8 become U+FFFD; they never swallow a NUL or a line feed. */
export function textOf(bytes: Uint8Array): string {
  return utf8.decode(bytes)
}

/** What a NUL ends. A torn last piece, of output that was stopped, is left out. */
export function fieldsOf({ stdout }: Pick<GitOutput, 'stdout'>): string[] {
  return textOf(stdout).split('\0').slice(0, -1)
}

const SECONDS_MAX = Date.UTC(9999, 11, 31) / 1000

/** A time of git's, in seconds. What lies outside the years that a timestamp can say is the epoch, as with git. */
export function timeOf(seconds: string): string {
  const told = /^\d+$/.test(seconds) ? Number(seconds) : 0
  return new Date(told > SECONDS_MAX ? 0 : told * 1000).toISOString()
}

export interface CutText {
  text: string
  cut: boolean
}

export function cut(text: string, length_max: number = LIMITS.git_text_length_max): CutText {
  if (text.length <= length_max) return { text, cut: false }
  // Not between the halves of a character.
  const end = /[\ud800-\udbff]/.test(text.charAt(length_max - 1)) ? length_max - 1 : length_max
  return { text: text.slice(0, end), cut: true }
}

/** A subject as answers show it. */
export function subjectOf(subject: string): { subject: string; subject_cut?: true } {
  const shown = cut(subject)
  return { subject: shown.text, ...(shown.cut ? { subject_cut: true } : {}) }
}

/** As many of the first as one answer carries. */
export function within<T>(
  items: readonly T[],
  count_max: number,
  bytes_max: number = LIMITS.git_list_bytes_max,
): { kept: T[]; truncated: boolean } {
  const kept: T[] = []
  let bytes = 0
  for (const item of items) {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1
    if (kept.length === count_max || bytes > bytes_max) return { kept, truncated: true }
    kept.push(item)
  }
  return { kept, truncated: false }
}
