/** A promise was broken. The run ends with it. */
export class Violation extends Error {
  /** The promise, in a few words. */
  readonly promise: string

  constructor(promise: string, detail: string) {
    super(`${promise}: ${detail}`)
    this.promise = promise
  }
}

/** Whatever else is thrown while the product runs breaks the promise that nothing does. */
export function asViolation(error: unknown): Violation {
  if (error instanceof Violation) return error
  return new Violation('nothing breaks', String(error instanceof Error ? error.stack : error))
}
