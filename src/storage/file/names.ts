/** Names as small numbers: identities, sessions, intents come again and again. */
export class Names {
  readonly list: string[]
  private readonly numbers = new Map<string, number>()
  readonly names_max: number

  constructor(names_max: number, list: string[] = []) {
    this.names_max = names_max
    this.list = list
    for (const [number, name] of list.entries()) this.numbers.set(name, number)
  }

  /** The name's number, making one where it has none; -1 once there are too many. */
  number(name: string): number {
    const known = this.numbers.get(name)
    if (known !== undefined) return known
    if (this.list.length >= this.names_max) return -1
    const number = this.list.push(name) - 1
    this.numbers.set(name, number)
    return number
  }

  /** -1 for a name nobody has used. */
  find(name: string): number {
    return this.numbers.get(name) ?? -1
  }

  name(number: number): string {
    return this.list[number] as string
  }
}
