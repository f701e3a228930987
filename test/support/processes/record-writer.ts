// One of several processes that work in the same project. Arguments: ROOT NAME COUNT ID; ID is a record whose counter
// all of them increment. Prints `ready` and starts at the first input.
import { once } from 'node:events'
import * as z from 'zod'
import type { RecordKind } from '../../../src/contracts/memory/records.ts'
import { createRecords, type Records } from '../../../src/modules/records/service.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import { projectOpener } from '../../../src/storage/file/project/open-projects.ts'
import { systemClock as clock } from '../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'

const TALLY: RecordKind = {
  name: 'tally',
  summary: 'Something that is counted.',
  keeper: 'project',
  fields: z.strictObject({ text: z.string(), count: z.number().default(0) }),
}

/** `root` is the project of every caller. */
export function recordsIn(root: string): Records {
  const project = { project_id: '01JZ0000000000000000000000', root, aliases: [], created_at: '' }
  return createRecords({
    kinds: [TALLY],
    hub_records: createMemoryRecordStore(),
    openProject: projectOpener({ log: silentLog }),
    projects: {
      ...{
        find: () => project,
        resolve: () => ({ project, within: project }),
        rootFor: () => root,
        isInPlace: () => true,
        inMainWorkTree: (place: string) => place,
        workTreesInside: () => [],
      },
      ...{ at: async () => project, directories: () => [project], holdsHome: () => false },
    },
    personas: { get: () => null },
    events: createMemoryEventLog(clock),
    ...{ clock, ids: createIds(clock, systemRandom), log: silentLog },
  })
}

export const callBy = (identity: string, scope: string) => ({
  caller: { identity, kind: 'operator' as const },
  context: { agent_id: 'anonymous', scope },
})

if (process.argv[1]?.includes('record-writer') === true) {
  const [root = '', name = '', count = '0', id = ''] = process.argv.slice(2)
  const records = recordsIn(root)
  const call = callBy(name, root)
  process.stdout.write('ready\n')
  await once(process.stdin, 'data')
  for (let turn = 0; turn < Number(count); turn += 1) {
    await Promise.all([
      records.put(call, { kind: 'tally', record: { text: `${name} ${turn}` } }),
      records.increment(call, { kind: 'tally', id, field: 'count' }),
    ])
  }
  process.stdin.destroy()
}
