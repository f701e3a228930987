/** Lines that other processes leave for the hub while it is down, or when they do not wait for it. */
export interface Spool {
  /**
   * Passes every spooled line to `take`, oldest first, in groups of bounded size, and records durably which are done before it
   * passes the next group. A deferred line is passed again by the next call, before later lines, and blocks no other line. A
   * rejected line, or one deferred too long or among too many, is stored with the reason. Entries that are not regular files
   * are quarantined, never read.
   *
   * After a crash between `take` and the record, the next process passes that group again; `take` must recognise lines that
   * are done by their ids. `take` returns the outcome of each line, in order.
   */
  consume(take: (lines: readonly string[]) => Promise<readonly LineOutcome[]>): Promise<{
    taken: number
    refused: number
  }>
  /** Passes no further group; resolves when the current group is done and recorded. */
  close(): Promise<void>
}

export type LineOutcome =
  | 'taken'
  /** Rejected for good. */
  | { refused: string }
  /** Deferred for a temporary reason that is not caused by the line. */
  | { later: string }
  /** Failed, possibly because of the line; retried a few times. */
  | { broke: string }
