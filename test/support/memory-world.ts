/** Shared memory over memory stores: everything that facades call, as they call it. */
import { DecideInput } from '../../src/contracts/decision.ts'
import { PostInput } from '../../src/contracts/blackboard.ts'
import { FACADES } from '../../src/facades/all.ts'
import { openMemory, type MemoryModules } from '../../src/hub/memory.ts'
import { memoryProjects } from './memory-projects.ts'
import { recordWorld, type RecordWorld, type RecordWorldKept } from './record-world.ts'

export interface MemoryWorld extends RecordWorld, MemoryModules {
  /** Bob's, in /projects/bob. */
  bob: ReturnType<RecordWorld['as']>
  /** As bob; answers the entry's id. */
  post(input: object): Promise<string>
  /** As bob, about what it does not say. */
  decide(input: object): Promise<{ id: string; status: string }>
}

/** `config`: what every project's `config.yml` says; or what a former world has left. */
export async function memoryWorld({
  config = null,
  ...kept
}: RecordWorldKept & { config?: string | null } = {}): Promise<MemoryWorld> {
  const world = await recordWorld(
    FACADES.flatMap(({ kinds = [] }) => kinds),
    { openProject: memoryProjects(config), ...kept },
  )
  const { modules } = openMemory({ ...world.needs, records: world.records })
  const bob = world.as('bob')
  return {
    ...world,
    ...modules,
    bob,
    async post(input) {
      const { id } = await modules.blackboard.post(bob, PostInput.parse(input))
      return id
    },
    async decide(input) {
      const { id, status } = await modules.decisions.decide(
        bob,
        DecideInput.parse({
          ...{ domain: 'implementation', scope: 'src/', summary: 'Do it', context: 'It was open.' },
          ...{ rationale: 'It is simple.', ...input },
        }),
      )
      return { id, status }
    },
  }
}
