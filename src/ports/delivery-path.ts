/** A channel into a client's session that carries the text of a doorbell. */
export interface DeliveryPath {
  name: string
  /** Promises only that the bytes were accepted. */
  post(text: string): Promise<PostOutcome>
  /** Whether the other end has not read the last text yet. Absent where that cannot be known. */
  unread?(): boolean
}

/** `unavailable` only if no receiver can have the text; `failed` if that is uncertain. */
export type PostOutcome = 'sent' | 'unavailable' | 'failed'
