/** Pending signals of each persona: highest priority first, then oldest. */
import type { Row } from './signal-rows.ts'
import { RowQueue } from './row-queue.ts'

interface Persona {
  count: number
  /** Number of pending signals addressed to a session. */
  addressed: number
  /** One queue per priority, the highest priority last. */
  queues: (RowQueue | undefined)[]
}

export class PendingQueue {
  /** Indexed by the persona's number. */
  private readonly personas: (Persona | undefined)[] = []
  total = 0

  add(persona_number: number, priority: number, row: Row, addressed: boolean): void {
    const persona = this.personas[persona_number] ?? this.addPersona(persona_number)
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

  private addPersona(persona_number: number): Persona {
    // Without holes the engine keeps a packed array.
    while (this.personas.length <= persona_number) this.personas.push(undefined)
    return (this.personas[persona_number] = { count: 0, addressed: 0, queues: [] })
  }

  count(persona_number: number): number {
    return this.personas[persona_number]?.count ?? 0
  }

  /** Number of the persona's pending signals that are addressed to a session. */
  addressed(persona_number: number): number {
    return this.personas[persona_number]?.addressed ?? 0
  }

  *counts(): Iterable<[number, { count: number }]> {
    for (const [number, persona] of this.personas.entries())
      if (persona !== undefined) yield [number, persona]
  }

  /** Returns the persona's last rows of all priorities, the last first. */
  newest(persona_number: number, limit: number): Row[] {
    const queues = (this.personas[persona_number]?.queues ?? []).filter((queue) => queue !== undefined)
    return queues
      .flatMap((queue) => queue.last(limit))
      .toSorted((a, b) => b - a)
      .slice(0, limit)
  }

  /** Visits rows in order while `visit` returns true. The queue must not change during the visit. */
  visit(persona_number: number, visit: (row: Row) => boolean): void {
    const queues = this.personas[persona_number]?.queues ?? []
    for (let priority = queues.length - 1; priority >= 0; priority -= 1) {
      const queue = queues[priority]
      if (queue === undefined) continue
      for (let index = 0; index < queue.size; index += 1) if (!visit(queue.at(index))) return
    }
  }
}
