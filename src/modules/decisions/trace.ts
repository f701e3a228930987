/** What a decision rests on, and what rests on it. */
import type { Decision, DecisionTrace, TraceDirection } from '../../contracts/decision.ts'

/** Nearest first, each once, the one itself left out; so a circle ends where it began. */
export function traceOf(
  decisions: readonly Decision[],
  from: Decision,
  direction: TraceDirection,
): DecisionTrace['chain'] {
  const known = new Map(decisions.map((decision) => [decision.id, decision]))
  const dependents = new Map<string, string[]>()
  for (const { id, depends_on } of decisions) {
    for (const on of depends_on) dependents.set(on, [...(dependents.get(on) ?? []), id])
  }
  const ways: ((one: Decision) => readonly string[])[] = []
  if (direction !== 'downstream') ways.push(({ depends_on }) => depends_on)
  if (direction !== 'upstream') ways.push(({ id }) => dependents.get(id) ?? [])

  const seen = new Set([from.id])
  const chain: Decision[] = []
  for (const way of ways) {
    let edge = [from]
    while (edge.length > 0) {
      const next = edge.flatMap(way).flatMap((id) => {
        const decision = known.get(id)
        if (decision === undefined || seen.has(id)) return []
        seen.add(id)
        return [decision]
      })
      chain.push(...next)
      edge = next
    }
  }
  return chain.map(({ id, summary, depends_on, status }) => ({
    ...{ id, summary, depends_on },
    dependents: dependents.get(id) ?? [],
    status,
  }))
}
