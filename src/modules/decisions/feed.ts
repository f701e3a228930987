/** What a decision adds to the graph: itself, what it affects, and what it rests on. */
import type { Decision } from '../../contracts/decision.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import { putEntities, putRelations, type WantedEntity } from '../graph/service.ts'
import type { Library } from '../memory/library.ts'

/** Whether all of that is there. */
export async function isFed({ entities, relations }: Library, decision: Decision): Promise<boolean> {
  const { id, depends_on, supersedes, affected_files, affected_symbols } = decision
  const self = (await entities.all()).find(({ name, type }) => name === id && type === 'concept')
  if (self === undefined) return false
  const wanted = [
    ...[new Set(affected_files), new Set(affected_symbols), new Set(depends_on)],
    new Set(supersedes === undefined ? [] : [supersedes]),
  ].reduce((sum, { size }) => sum + size, 0)
  const found = (await relations.all()).filter(
    ({ source, target, type }) =>
      (type === 'decided_by' && target === self.id) ||
      ((type === 'depends_on' || type === 'supersedes') && source === self.id),
  )
  return found.length >= wanted
}

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
