/** Interns strings as small numbers: identities, sessions and intents repeat often. */
export class StringTable {
  readonly list: string[]
  private readonly numbers = new Map<string, number>()
  readonly size_max: number

  constructor(size_max: number, list: string[] = []) {
    this.size_max = size_max
    this.list = list
    for (const [number, name] of list.entries()) this.numbers.set(name, number)
  }

  /** Returns the name's number and assigns one if it is new; -1 if the table is full. */
  intern(name: string): number {
    const existing = this.numbers.get(name)
    if (existing !== undefined) return existing
    if (this.list.length >= this.size_max) return -1
    const number = this.list.push(name) - 1
    this.numbers.set(name, number)
    return number
  }

  /** Returns -1 for a name that was never interned. */
  find(name: string): number {
    return this.numbers.get(name) ?? -1
  }

  name(number: number): string {
    return this.list[number] as string
  }
}
