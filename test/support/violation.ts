/** A promise was broken. The run ends with it. */
export class Violation extends Error {
  /** The promise, in a few words. */
  readonly promise: string

  constructor(promise: string, detail: string) {
    super(`${promise}: ${detail}`)
    this.promise = promise
  }
}
