/** Shared memory over in-memory stores, called as the facades call it. */
import { DecideInput } from '../../../src/contracts/memory/decision.ts'
import { PostInput } from '../../../src/contracts/memory/blackboard.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { openMemory, type MemoryModules } from '../../../src/hub/project-memory.ts'
import { memoryProjects } from './memory-projects.ts'
import { recordWorld, type RecordWorld, type RecordWorldKept } from './record-world.ts'

export interface MemoryWorld extends RecordWorld, MemoryModules {
  /** The call context of bob, in /projects/bob. */
  bob: ReturnType<RecordWorld['as']>
  /** Posts as bob; returns the entry's id. */
  post(input: object): Promise<string>
  /** Decides as bob, with defaults for omitted fields. */
  decide(input: object): Promise<{ id: string; status: string }>
}

/** `config` is the `config.yml` of every project; alternatively, the state left by an earlier world. */
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
