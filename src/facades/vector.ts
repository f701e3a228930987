/** Runs of agents: prompts, assumptions, delegations and outcomes. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { Timestamp } from '../contracts/ids.ts'
import type { RecordKind } from '../contracts/memory/records.ts'
import { LogEventInput } from '../contracts/runs/run-events.ts'
import {
  AssumptionsAnswer,
  AssumptionsInput,
  CheckpointInput,
  CompleteRunInput,
  ContextPack,
  ContextPackInput,
  CreateRunInput,
  ListRunsInput,
  Prompt,
  PromptScore,
  ReadRunInput,
  Run,
  RunEventView,
  RunId,
  RunPage,
  Trace,
  TraceInput,
} from '../contracts/runs/runs.ts'

const OWN = Run.omit({ run_id: true, agent_id: true, status: true, created_at: true })

const RunKind: RecordKind = {
  name: 'run',
  summary: 'A task of an agent, with its events and outcome.',
  keeper: 'hub',
  changed_by: 'vector',
  fields: z.strictObject(OWN.shape),
  status: { initial: 'open', moves: { open: ['completed'] } },
}

const RUN = '01JZ0000000000000000000000'

export const vector = defineFacade({
  name: 'vector',
  summary: 'Runs of agents: prompts, checkpoints, assumptions, delegations, outcomes.',
  overview:
    'Runs. create_run {prompt, delegated_by? {agent_id, run_id}}, then {run_id} with: checkpoint {summary}, ' +
    'assumptions {add?, hold?, break?}, log_event {type, data?}, complete_run {success?, summary?}. ' +
    'context_pack {max_tokens?}: context for a delegate. trace: the tree of delegations. score_prompt {prompt}.',
  compact: 'Runs, delegations, drift.',
  facet: 'trace',
  kinds: [RunKind],
  actions: {
    create_run: defineAction({
      summary: 'Begin a run: {prompt, delegated_by?: {agent_id, run_id}, assumptions?: []}.',
      mutates: true,
      input: CreateRunInput,
      output: Run,
      errors: ['kind_forbidden', 'run_unknown', 'run_completed', 'limit_reached', 'store_unavailable'],
      allow: ['agent'],
      examples: [
        { prompt: 'Split src/parser.ts so that every file has one subject. Done when npm test passes.' },
        { prompt: 'Review the split.', delegated_by: { agent_id: 'ada', run_id: RUN } },
      ],
      handle: (input, call) => call.modules.runs.create(call, input),
    }),

    read_run: defineAction({
      summary: 'One run, with its newest events where asked for: {run_id, events?: how many}.',
      mutates: false,
      input: ReadRunInput,
      output: z.object({ run: Run, events: z.array(RunEventView) }),
      errors: ['run_unknown', 'store_unavailable'],
      allow: READERS,
      examples: [{ run_id: RUN, events: 20 }],
      handle: (input, call) => call.modules.runs.read(call, input),
    }),

    list_runs: defineAction({
      summary: 'Runs, newest first: {status?, agent_id?, before?: run_id, limit?}.',
      mutates: false,
      input: ListRunsInput,
      output: RunPage,
      errors: ['store_unavailable'],
      allow: READERS,
      examples: [{ status: 'open' }],
      handle: (input, call) => call.modules.runs.list(call, input),
    }),

    complete_run: defineAction({
      summary: 'End a run: {run_id, success?, summary?, data?}.',
      mutates: true,
      idempotent: true,
      input: CompleteRunInput,
      output: Run,
      errors: [
        ...(['kind_forbidden', 'run_unknown', 'run_completed', 'params_invalid'] as const),
        ...(['limit_reached', 'store_unavailable'] as const),
      ],
      allow: ['agent'],
      examples: [{ run_id: RUN, summary: 'split into four files; tests pass' }],
      handle: (input, call) => call.modules.runs.complete(call, input),
    }),

    log_event: defineAction({
      summary: 'Log an event of a run: {run_id, type: command_ran, …, or x.your_own, data?}.',
      mutates: true,
      input: LogEventInput,
      output: z.object({ seq: z.number().int(), timestamp: Timestamp }),
      errors: ['kind_forbidden', 'run_unknown', 'params_invalid', 'store_unavailable'],
      allow: ['agent'],
      examples: [
        { run_id: RUN, type: 'file_changed', data: { path: 'src/parser/lexer.ts' } },
        { run_id: RUN, type: 'x.deploy.started' },
      ],
      handle: (input, call) => call.modules.runs.logEvent(call, input),
    }),

    checkpoint: defineAction({
      summary: 'Save a checkpoint from which another agent can continue: {run_id, summary, data?}.',
      mutates: true,
      input: CheckpointInput,
      output: z.object({ run_id: RunId, at: Timestamp, checkpoints: z.number().int() }),
      errors: [
        ...(['kind_forbidden', 'run_unknown', 'run_completed', 'params_invalid'] as const),
        ...(['limit_reached', 'store_unavailable'] as const),
      ],
      allow: ['agent'],
      examples: [{ run_id: RUN, summary: 'lexer moved, parser still to do' }],
      handle: (input, call) => call.modules.runs.checkpoint(call, input),
    }),

    context_pack: defineAction({
      summary: 'Context of a run for a delegate, within a budget: {run_id, max_tokens?}.',
      mutates: false,
      input: ContextPackInput,
      output: ContextPack,
      errors: ['run_unknown', 'store_unavailable'],
      allow: READERS,
      examples: [{ run_id: RUN, max_tokens: 1_000 }],
      handle: (input, call) => call.modules.runs.contextPack(call, input),
    }),

    assumptions: defineAction({
      summary:
        'Assumptions of a run, and the share that proved wrong: {run_id, add?: [], hold?: [], break?: []}.',
      mutates: true,
      idempotent: true,
      input: AssumptionsInput,
      output: AssumptionsAnswer,
      errors: [
        ...(['kind_forbidden', 'run_unknown', 'run_completed', 'params_invalid'] as const),
        ...(['limit_reached', 'store_unavailable'] as const),
      ],
      allow: ['agent'],
      examples: [
        { run_id: RUN },
        { run_id: RUN, add: ['nobody imports the lexer by its path'] },
        { run_id: RUN, hold: [1], break: ['nobody imports the lexer by its path'] },
      ],
      handle: (input, call) => call.modules.runs.assumptions(call, input),
    }),

    score_prompt: defineAction({
      summary: 'Score of how clear a prompt is, 0 to 100, by heuristics with reasons: {prompt}.',
      mutates: false,
      input: z.strictObject({ prompt: Prompt }),
      output: PromptScore,
      errors: [],
      allow: READERS,
      examples: [{ prompt: 'Fix the login.' }],
      handle: ({ prompt }, { modules: { runs } }) => runs.scorePrompt(prompt),
    }),

    trace: defineAction({
      summary: 'Tree of delegations below a run: {run_id, depth?}.',
      mutates: false,
      input: TraceInput,
      output: Trace,
      errors: ['run_unknown', 'store_unavailable'],
      allow: READERS,
      examples: [{ run_id: RUN }],
      handle: (input, call) => call.modules.runs.trace(call, input),
    }),
  },
})
