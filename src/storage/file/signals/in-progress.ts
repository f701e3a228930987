/** Counts signals in progress for each persona. A signal is in progress once its drain is final, until it is completed. */
export class InProgress {
  private readonly counts = new Map<number, number>()

  /** `persona` is the persona's number in the index. */
  add(persona: number, change: 1 | -1): void {
    const count = this.count(persona) + change
    if (count > 0) this.counts.set(persona, count)
    else this.counts.delete(persona)
  }

  count(persona: number): number {
    return this.counts.get(persona) ?? 0
  }
}
