/** A way into a session, by which a bell's text gets there. */
export interface Way {
  name: string
  /** Promises only that the bytes were taken. */
  post(text: string): Promise<Posted>
  /** Whether the last text is still on its way: the other end has not read it. Absent where that is not known. */
  unread?(): boolean
}

/** `unavailable` only where nobody can have it; `failed` where that cannot be told. */
export type Posted = 'sent' | 'unavailable' | 'failed'
