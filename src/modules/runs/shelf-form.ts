/** How a run is written down. A run of before there was delegation lacks fields, which its schema knows. */
import { Run } from '../../contracts/runs.ts'
import type { RecordBody } from '../../ports/record-store.ts'
import type { ShelfForm } from '../shelf.ts'

export const RUNS: ShelfForm<Run> = {
  kind: 'run',
  item: Run,
  toRecord: ({ run_id: id, status, agent_id, created_at, ...fields }) => ({
    ...{ id, status, agent_id, created_at },
    fields: fields as RecordBody,
  }),
  fromRecord: ({ id: run_id, fields, ...common }) => ({ ...fields, ...common, run_id }),
}
