/** Codec of run records. The schema adds fields that runs of earlier versions lack. */
import { Run } from '../../contracts/runs/runs.ts'
import type { RecordBody } from '../../ports/record-store.ts'
import type { CommonRecordCodec } from '../lib/hub-records.ts'

export const RUNS: CommonRecordCodec<Run> = {
  kind: 'run',
  item: Run,
  toRecord: ({ run_id: id, status, agent_id, created_at, ...fields }) => ({
    id,
    status,
    agent_id,
    created_at,
    fields: fields as RecordBody,
  }),
  fromRecord: ({ id: run_id, fields, ...common }) => ({ ...fields, ...common, run_id }),
}
