/** Adds a decision to the entity graph, with the files and symbols it affects and the decisions it depends on. */
import type { Decision } from '../../contracts/memory/decision.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import { putEntities, putRelations, type EntityInput } from '../graph/service.ts'
import type { ProjectMemory } from '../memory/project-memory.ts'

/** Idempotent. */
export async function feedGraph(
  memory: ProjectMemory,
  decision: Decision,
  deps: { clock: Clock; ids: Ids },
): Promise<void> {
  const { id, scope, summary, depends_on, supersedes, affected_files, affected_symbols } = decision
  const others = [...depends_on, ...(supersedes === undefined ? [] : [supersedes])]
  const affected = [
    ...affected_files.map((name) => ({ name, type: 'file', properties: { scope } })),
    ...affected_symbols.map((name) => ({ name, type: 'function', properties: { scope } })),
  ]
  const own: EntityInput = { name: id, type: 'concept', properties: { summary, scope } }
  const rest = others.map((name): EntityInput => ({ name, type: 'concept', properties: {} }))
  const [self, ...others_in_graph] = await putEntities(memory, [own, ...affected, ...rest], deps)
  if (self === undefined) return
  const relations = others_in_graph.map((entity, index) => {
    if (index < affected.length) {
      return {
        source: entity.id,
        target: self.id,
        type: 'decided_by',
        properties: { decision_summary: summary },
      }
    }
    const type = index < affected.length + depends_on.length ? 'depends_on' : 'supersedes'
    return { source: self.id, target: entity.id, type, properties: {} }
  })
  await putRelations(memory, relations, deps)
}
