/** Number of signals in progress by persona: their drain is final, and they are not completed. */
export class InProgress {
  private readonly counts = new Map<number, number>()

  /** `persona` is its number in the index. */
  add(persona: number, change: 1 | -1): void {
    const count = this.count(persona) + change
    if (count > 0) this.counts.set(persona, count)
    else this.counts.delete(persona)
  }

  count(persona: number): number {
    return this.counts.get(persona) ?? 0
  }
}
