/** Removes secrets from texts before they are stored. */
import type { CapturedText } from '../../contracts/activity/event.ts'

/** Replaces a secret. */
export const REDACTED = '[redacted]'

export interface Redactor {
  /** Returns the text with each secret replaced by `REDACTED`; a text without secrets is unchanged. Idempotent. */
  redact(text: string): Promise<string>
  /**
   * Redacts a text, and cuts it to `activity_text_bytes_max` afterwards, so no cut hides a part of a secret. Of a longer
   * text, size and digest are those of the whole text as given.
   */
  capture(text: string): Promise<CapturedText>
}
