/** Where other processes leave things for a hub that is away, or that they need not wait for. */
export interface Spool {
  /**
   * Hands over every line that was left, oldest first, one after the other, and notes durably which are done before
   * it hands over the next. A line that has to wait is handed over again by the next call, before what came later, and
   * holds up no other. One that is refused, or has waited for too long or among too many, is kept
   * aside with the reason.
   *
   * A process that dies between what `take` did and the note leaves that line to be handed over again, by whoever
   * opens the spool next: only `take` can know, by the id in the line, that it was done.
   */
  takeAll(take: (line: string) => Promise<Taken>): Promise<{ taken: number; refused: number }>
  /** Hands over nothing more; resolves when the line that was handed over is done, and noted. */
  close(): Promise<void>
}

export type Taken =
  | 'taken'
  /** Never to be tried again. */
  | { refused: string }
  /** The reason is for a while, and not the line's. */
  | { later: string }
  /** Something broke, and it may be because of the line: tried a few times more. */
  | { broke: string }
