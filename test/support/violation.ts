/** Error for a broken promise; it ends the run. */
export class Violation extends Error {
  /** The promise, in a few words. */
  readonly promise: string

  constructor(promise: string, detail: string) {
    super(`${promise}: ${detail}`)
    this.promise = promise
  }
}
