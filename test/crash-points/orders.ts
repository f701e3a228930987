/** Messages between a recorded hub and its parent. */

/** Orders of the parent; each is answered with `done`. */
export type Order =
  /** Advances the clock and runs everything that is due. */
  | { do: 'advance'; ms: number }
  /** Advances the clock as after a suspension. */
  | { do: 'jump'; ms: number }
  /** Waits until no more writes follow. */
  | { do: 'rest' }
  | { do: 'stop' }

export type Word = { ready: string } | { done: true; now_ms: number }

/** Header with the name of a request in the trace. */
export const NAME_HEADER = 'x-crash-points-name'
