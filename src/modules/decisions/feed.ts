/** What a decision adds to the graph: itself, what it affects, and what it rests on. */
import type { Decision } from '../../contracts/decision.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import { putEntities, putRelations, type WantedEntity } from '../graph/service.ts'
import type { Library } from '../memory/library.ts'

/** Doing it again changes nothing. */
export async function feedGraph(
  library: Library,
  decision: Decision,
  making: { clock: Clock; ids: Ids },
): Promise<void> {
  const { id, scope, summary, depends_on, supersedes, affected_files, affected_symbols } = decision
  const others = [...depends_on, ...(supersedes === undefined ? [] : [supersedes])]
  const affected = [
    ...affected_files.map((name) => ({ name, type: 'file', properties: { scope } })),
    ...affected_symbols.map((name) => ({ name, type: 'function', properties: { scope } })),
  ]
  const itself: WantedEntity = { name: id, type: 'concept', properties: { summary, scope } }
  const rest = others.map((name): WantedEntity => ({ name, type: 'concept', properties: {} }))
  const [self, ...known] = await putEntities(library, [itself, ...affected, ...rest], making)
  if (self === undefined) return
  const relations = known.map((entity, index) => {
    if (index < affected.length) {
      return {
        ...{ source: entity.id, target: self.id, type: 'decided_by' },
        properties: { decision_summary: summary },
      }
    }
    const type = index < affected.length + depends_on.length ? 'depends_on' : 'supersedes'
    return { source: self.id, target: entity.id, type, properties: {} }
  })
  await putRelations(library, relations, making)
}
