/** Dependencies and dependents of a decision. */
import type { Decision, DecisionTrace, TraceDirection } from '../../contracts/memory/decision.ts'

/** Returns the chain nearest first, each decision once and without the start, so that a cycle ends. */
export function traceOf(
  decisions: readonly Decision[],
  from: Decision,
  direction: TraceDirection,
): DecisionTrace['chain'] {
  const by_id = new Map(decisions.map((decision) => [decision.id, decision]))
  const dependents = new Map<string, string[]>()
  for (const { id, depends_on } of decisions) {
    for (const on of depends_on) dependents.set(on, [...(dependents.get(on) ?? []), id])
  }
  const directions: ((one: Decision) => readonly string[])[] = []
  if (direction !== 'downstream') directions.push(({ depends_on }) => depends_on)
  if (direction !== 'upstream') directions.push(({ id }) => dependents.get(id) ?? [])

  const seen = new Set([from.id])
  const chain: Decision[] = []
  for (const neighborsOf of directions) {
    let edge = [from]
    while (edge.length > 0) {
      const next = edge.flatMap(neighborsOf).flatMap((id) => {
        const decision = by_id.get(id)
        if (decision === undefined || seen.has(id)) return []
        seen.add(id)
        return [decision]
      })
      chain.push(...next)
      edge = next
    }
  }
  return chain.map(({ id, summary, depends_on, status }) => ({
    id,
    summary,
    depends_on,
    dependents: dependents.get(id) ?? [],
    status,
  }))
}
