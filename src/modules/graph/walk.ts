/** Neighbours and paths in the graph, by breadth-first search. */
import type { Entity, Neighbor, Relation } from '../../contracts/memory/graph.ts'

export interface GraphData {
  entities: readonly Entity[]
  relations: readonly Relation[]
}

interface Step {
  relation: Relation
  direction: Neighbor['direction']
  to: string
}

/** Returns each entity once, with the first relation that leads to it, nearest first. */
export function neighborsOf(
  graph: GraphData,
  center: Entity,
  { depth, relation_types }: { depth: number; relation_types?: readonly string[] },
): Neighbor[] {
  const entities = byId(graph.entities)
  const steps = stepsOf(graph.relations, relation_types)
  const seen = new Set([center.id])
  const found: Neighbor[] = []
  let edge = [center.id]
  for (let level = 0; level < depth && edge.length > 0; level += 1) {
    const next: string[] = []
    for (const id of edge) {
      for (const { relation, direction, to } of steps.get(id) ?? []) {
        const entity = entities.get(to)
        if (entity === undefined || seen.has(to)) continue
        seen.add(to)
        next.push(to)
        found.push({ entity, relation, direction })
      }
    }
    edge = next
  }
  return found
}

/** Returns the shortest path; null if it has more than `length_max` relations. */
export function pathBetween(
  graph: GraphData,
  from: Entity,
  to: Entity,
  length_max: number,
): { entities: Entity[]; relations: Relation[] } | null {
  const entities = byId(graph.entities)
  const steps = stepsOf(graph.relations)
  const reached = new Map<string, { relation: Relation; from: string } | null>([[from.id, null]])
  let edge = [from.id]
  for (let length = 0; length < length_max && !reached.has(to.id) && edge.length > 0; length += 1) {
    const next: string[] = []
    for (const id of edge) {
      for (const step of steps.get(id) ?? []) {
        if (reached.has(step.to) || !entities.has(step.to)) continue
        reached.set(step.to, { relation: step.relation, from: id })
        next.push(step.to)
      }
    }
    edge = next
  }
  if (!reached.has(to.id)) return null
  const path: { entities: Entity[]; relations: Relation[] } = { entities: [to], relations: [] }
  for (let back = reached.get(to.id) ?? null; back !== null; back = reached.get(back.from) ?? null) {
    path.relations.unshift(back.relation)
    path.entities.unshift(entities.get(back.from) as Entity)
  }
  return path
}

function byId(entities: readonly Entity[]): Map<string, Entity> {
  return new Map(entities.map((entity) => [entity.id, entity]))
}

/** Returns the steps from each entity, in the order of the relations. */
function stepsOf(relations: readonly Relation[], types?: readonly string[]): Map<string, Step[]> {
  const steps = new Map<string, Step[]>()
  const add = (id: string, step: Step) => {
    const known = steps.get(id)
    if (known === undefined) steps.set(id, [step])
    else known.push(step)
  }
  for (const relation of relations) {
    const { source, target, type } = relation
    if (types !== undefined && !types.includes(type)) continue
    add(source, { relation, direction: 'outgoing', to: target })
    add(target, { relation, direction: 'incoming', to: source })
  }
  return steps
}
