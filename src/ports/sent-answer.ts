/**
 * The delivery of a response to its caller. A drain's lease depends on it, because a response passed to a connection has not
 * reached the caller yet.
 *
 * Both promises settle, `received` never before `written`. Call the methods while the call runs; later the information may
 * be lost.
 */
export interface SentAnswer {
  /**
   * `written` when the operating system has every byte and the connection is still open after that. `broken` if it ended
   * before, also while this process was suspended.
   */
  written(): Promise<'written' | 'broken'>
  /**
   * `received` when the peer has reacted after that: by its next request, a pong, or a close with no unread bytes. `broken`
   * if the connection ended with unread bytes.
   */
  received(): Promise<'received' | 'broken'>
}

/** For a caller in this process, which receives the response directly. */
export const RECEIVED: SentAnswer = {
  written: () => Promise.resolve('written'),
  received: () => Promise.resolve('received'),
}
