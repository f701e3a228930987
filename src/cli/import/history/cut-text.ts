/** Cuts long texts of history files before they are sent. */
import { createHash } from 'node:crypto'
import type { CapturedText, CutText } from '../../../contracts/activity/event.ts'
import type { Json } from '../../../contracts/ids.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'

/** What remains is longer than the stored part, so that no cut hides a part of a secret from the hub. */
export function cutText(text: string): CapturedText {
  if (text.length <= LIMITS.activity_sent_text_length_max) return text
  return {
    text: text.slice(0, LIMITS.activity_sent_text_length_max).replace(/[\uD800-\uDBFF]$/, ''),
    bytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
  }
}

/** Returns undefined for an empty text. */
export function cutOrNone(text: string): CapturedText | undefined {
  return text === '' ? undefined : cutText(text)
}

/** A value whose JSON text is too long is replaced with the beginning of that text. */
export function cutValue(value: Json | undefined): Json | CutText | undefined {
  if (value === undefined) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length <= LIMITS.activity_sent_text_length_max) return value
  const cut = cutText(text)
  return typeof cut === 'string' ? value : cut
}
