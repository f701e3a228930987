/** One change after the other, in the order of the calls: what a change was decided on still holds when it is kept. */
export type InTurn = <T>(change: () => Promise<T>) => Promise<T>

export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return (change) => {
    const mine = last.then(change)
    last = mine.catch(() => undefined)
    return mine
  }
}
