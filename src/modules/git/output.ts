/** Parses git's output to bounded responses: fields, times, truncated texts and lists. */
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { GitOutput } from '../../ports/git.ts'

// A byte order mark is part of a name or a line like any other character.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** Invalid UTF-8 becomes U+FFFD, without affecting a following NUL or line feed. */
export function textOf(bytes: Uint8Array): string {
  return utf8.decode(bytes)
}

/** Returns the fields that end with a NUL. Ignores an incomplete last field of truncated output. */
export function fieldsOf({ stdout }: Pick<GitOutput, 'stdout'>): string[] {
  return textOf(stdout).split('\0').slice(0, -1)
}

const SECONDS_MAX = Date.UTC(9999, 11, 31) / 1000

/** Converts a time of git in seconds. Times outside the range of a timestamp become the epoch, as in git. */
export function timeOf(seconds: string): string {
  const given = /^\d+$/.test(seconds) ? Number(seconds) : 0
  return new Date(given > SECONDS_MAX ? 0 : given * 1000).toISOString()
}

export interface CutText {
  text: string
  cut: boolean
}

export function cut(text: string, length_max: number = LIMITS.git_text_length_max): CutText {
  if (text.length <= length_max) return { text, cut: false }
  // Not in the middle of a character pair.
  const end = /[\ud800-\udbff]/.test(text.charAt(length_max - 1)) ? length_max - 1 : length_max
  return { text: text.slice(0, end), cut: true }
}

/** Truncates a subject for responses. */
export function subjectOf(subject: string): { subject: string; subject_cut?: true } {
  const shown = cut(subject)
  return { subject: shown.text, ...(shown.cut ? { subject_cut: true } : {}) }
}

/** Returns the first items that fit into one response. */
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
