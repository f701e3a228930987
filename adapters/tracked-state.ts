/** The state of a turn tracker, shared by the parts of its surface. */
export interface Tracked<State> {
  readonly state: () => State
  /** Sets the next state and calls the listeners in the order in which they were added. */
  readonly move: (next: State) => void
  /** Sets the next state without calling the listeners. */
  readonly replace: (next: State) => void
  onMove(listener: (next: State, before: State) => void): void
}

export function trackedState<State>(initial: State): Tracked<State> {
  let state = initial
  const listeners: ((next: State, before: State) => void)[] = []
  return {
    state: () => state,
    move(next) {
      const before = state
      state = next
      for (const listener of listeners) listener(next, before)
    },
    replace: (next) => void (state = next),
    onMove: (listener) => void listeners.push(listener),
  }
}
