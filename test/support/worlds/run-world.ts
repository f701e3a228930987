/** Runs over in-memory stores, on a clock that the test moves. */
import type { Caller } from '../../../src/contracts/token.ts'
import {
  AssumptionsInput,
  CheckpointInput,
  CompleteRunInput,
  ContextPackInput,
  CreateRunInput,
  ListRunsInput,
  ReadRunInput,
  TraceInput,
} from '../../../src/contracts/runs/runs.ts'
import type { RunCall } from '../../../src/modules/runs/run-changes.ts'
import { createRuns, type Runs } from '../../../src/modules/runs/service.ts'
import type { EventLog } from '../../../src/ports/event-log.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import { createIds } from '../../../src/system/random.ts'
import { fakeClock, seededRandom, type FakeClock } from '../fakes/fake-clock.ts'
import { agent } from './signal-world.ts'

export interface RunWorld {
  clock: FakeClock
  records: RecordStore
  events: EventLog
  runs: Runs
  create(prompt: string, more?: Partial<CreateRunInput>, call?: RunCall): ReturnType<Runs['create']>
  read(run_id: string, events?: number): ReturnType<Runs['read']>
  list(query?: Partial<ListRunsInput>): ReturnType<Runs['list']>
  complete(run_id: string, more?: Partial<CompleteRunInput>): ReturnType<Runs['complete']>
  checkpoint(run_id: string, summary: string, data?: CheckpointInput['data']): ReturnType<Runs['checkpoint']>
  assume(run_id: string, change?: Partial<AssumptionsInput>): ReturnType<Runs['assumptions']>
  pack(run_id: string, max_tokens?: number): ReturnType<Runs['contextPack']>
  trace(run_id: string, depth?: number): ReturnType<Runs['trace']>
  /** Creates a run that another one delegated. */
  delegate(
    from: { run_id: string; agent_id: string },
    prompt: string,
    to?: string,
  ): ReturnType<Runs['create']>
  /** Returns the events of a run, oldest first. */
  told(run_id: string): { type: string; data: object }[]
}

/** Returns a call whose agent id is chosen by the caller. */
export function as(agent_id: string, caller: Caller = agent(agent_id)): RunCall {
  return { caller, context: { agent_id } }
}

let worlds = 0

export function runWorld(options: { records?: RecordStore } = {}): RunWorld {
  const clock = fakeClock()
  const records = options.records ?? createMemoryRecordStore()
  const events = createMemoryEventLog(clock)
  const ids = createIds(clock, seededRandom((worlds += 1)))
  const runs = createRuns({ hub_records: records, events, clock, ids, log: silentLog })
  const ada = as('ada')
  const create: RunWorld['create'] = (prompt, more = {}, call = ada) =>
    runs.create(call, CreateRunInput.parse({ prompt, ...more }))
  return {
    ...{ clock, records, events, runs, create },
    read: (run_id, newest = 0) => runs.read(ada, ReadRunInput.parse({ run_id, events: newest })),
    list: (query = {}) => runs.list(ada, ListRunsInput.parse(query)),
    complete: (run_id, more = {}) => runs.complete(ada, CompleteRunInput.parse({ run_id, ...more })),
    checkpoint: (run_id, summary, data) =>
      runs.checkpoint(ada, CheckpointInput.parse({ run_id, summary, ...(data !== undefined && { data }) })),
    assume: (run_id, change = {}) => runs.assumptions(ada, AssumptionsInput.parse({ run_id, ...change })),
    pack: (run_id, max_tokens) =>
      runs.contextPack(
        ada,
        ContextPackInput.parse({ run_id, ...(max_tokens !== undefined && { max_tokens }) }),
      ),
    trace: (run_id, depth) =>
      runs.trace(ada, TraceInput.parse({ run_id, ...(depth !== undefined && { depth }) })),
    delegate: ({ run_id, agent_id }, prompt, to = 'bob') =>
      create(prompt, { delegated_by: { agent_id, run_id } }, as(to)),
    told: (run_id) => events.read({ run_id, limit: 10_000 }).events.map(({ type, data }) => ({ type, data })),
  }
}
