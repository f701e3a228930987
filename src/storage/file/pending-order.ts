/** Who waits for whom: per persona the highest priority first, then the oldest. */
import type { Row } from './rows.ts'
import { RowQueue } from './row-queue.ts'

interface Persona {
  count: number
  /** How many of them are addressed to one session. */
  addressed: number
  /** One queue per priority, highest last. */
  queues: (RowQueue | undefined)[]
}

export class PendingOrder {
  /** By the persona's number. */
  private readonly personas: (Persona | undefined)[] = []
  total = 0

  add(persona_number: number, priority: number, row: Row, addressed: boolean): void {
    const persona = this.personas[persona_number] ?? this.enter(persona_number)
    const queue = (persona.queues[priority] ??= new RowQueue())
    queue.add(row)
    persona.count += 1
    if (addressed) persona.addressed += 1
    this.total += 1
  }

  remove(persona_number: number, priority: number, row: Row, addressed: boolean): void {
    const persona = this.personas[persona_number] as Persona
    persona.queues[priority]?.remove(row)
    persona.count -= 1
    if (addressed) persona.addressed -= 1
    this.total -= 1
    if (persona.count === 0) this.personas[persona_number] = undefined
  }

  private enter(persona_number: number): Persona {
    // Without holes it stays an array.
    while (this.personas.length <= persona_number) this.personas.push(undefined)
    return (this.personas[persona_number] = { count: 0, addressed: 0, queues: [] })
  }

  count(persona_number: number): number {
    return this.personas[persona_number]?.count ?? 0
  }

  /** How many of those are addressed to one session. */
  addressed(persona_number: number): number {
    return this.personas[persona_number]?.addressed ?? 0
  }

  *counts(): Iterable<[number, { count: number }]> {
    for (const [number, persona] of this.personas.entries())
      if (persona !== undefined) yield [number, persona]
  }

  /** In order, as long as `visit` answers true. The queue must not change meanwhile. */
  visit(persona_number: number, visit: (row: Row) => boolean): void {
    const queues = this.personas[persona_number]?.queues ?? []
    for (let priority = queues.length - 1; priority >= 0; priority -= 1) {
      const queue = queues[priority]
      if (queue === undefined) continue
      for (let index = 0; index < queue.size; index += 1) if (!visit(queue.at(index))) return
    }
  }
}
