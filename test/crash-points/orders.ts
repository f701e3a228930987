/** What a recorded hub and its parent say to each other. */

/** What the parent asks for; each is answered with `done`. */
export type Order =
  /** Lets so much time go by, with all that is due in it. */
  | { do: 'advance'; ms: number }
  /** The machine stood still so long. */
  | { do: 'jump'; ms: number }
  /** Waits until nothing more is written. */
  | { do: 'rest' }
  | { do: 'stop' }

export type Word = { ready: string } | { done: true; now_ms: number }

/** The header that names a request in the trace. */
export const NAME_HEADER = 'x-crash-points-name'
