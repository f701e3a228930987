/** Ways through the graph, breadth first: what is nearest comes first, and a circle ends where it began. */
import type { Entity, Neighbor, Relation } from '../../contracts/graph.ts'

export interface Drawn {
  entities: readonly Entity[]
  relations: readonly Relation[]
}

interface Step {
  relation: Relation
  direction: Neighbor['direction']
  to: string
}

/** Each entity once, by the first relation that leads to it. */
export function neighborsOf(
  drawn: Drawn,
  center: Entity,
  { depth, relation_types }: { depth: number; relation_types?: readonly string[] },
): Neighbor[] {
  const entities = byId(drawn.entities)
  const steps = stepsOf(drawn.relations, relation_types)
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

/** Null where there is no way of at most so many relations. */
export function pathBetween(
  drawn: Drawn,
  from: Entity,
  to: Entity,
  length_max: number,
): { entities: Entity[]; relations: Relation[] } | null {
  const entities = byId(drawn.entities)
  const steps = stepsOf(drawn.relations)
  const came = new Map<string, { relation: Relation; from: string } | null>([[from.id, null]])
  let edge = [from.id]
  for (let length = 0; length < length_max && !came.has(to.id) && edge.length > 0; length += 1) {
    const next: string[] = []
    for (const id of edge) {
      for (const step of steps.get(id) ?? []) {
        if (came.has(step.to) || !entities.has(step.to)) continue
        came.set(step.to, { relation: step.relation, from: id })
        next.push(step.to)
      }
    }
    edge = next
  }
  if (!came.has(to.id)) return null
  const path: { entities: Entity[]; relations: Relation[] } = { entities: [to], relations: [] }
  for (let back = came.get(to.id) ?? null; back !== null; back = came.get(back.from) ?? null) {
    path.relations.unshift(back.relation)
    path.entities.unshift(entities.get(back.from) as Entity)
  }
  return path
}

function byId(entities: readonly Entity[]): Map<string, Entity> {
  return new Map(entities.map((entity) => [entity.id, entity]))
}

/** From each entity the ways on, in the order of the relations. */
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
