/** Runs of agents: what was asked, what was assumed, who was asked in turn, and what came of it. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { Timestamp } from '../contracts/ids.ts'
import type { RecordKind } from '../contracts/records.ts'
import { LogEventInput } from '../contracts/run-events.ts'
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
} from '../contracts/runs.ts'

const OWN = Run.omit({ run_id: true, agent_id: true, status: true, created_at: true })

const RunKind: RecordKind = {
  name: 'run',
  summary: 'What an agent was asked to do, how it went about it, and what came of it.',
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
    'context_pack {max_tokens?}: what a delegate must know. trace: who delegated to whom. score_prompt {prompt}.',
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
      handle: (input, call) => call.runs.create(call, input),
    }),

    read_run: defineAction({
      summary: 'One run, with its newest events where asked for: {run_id, events?: how many}.',
      mutates: false,
      input: ReadRunInput,
      output: z.object({ run: Run, events: z.array(RunEventView) }),
      errors: ['run_unknown', 'store_unavailable'],
      allow: READERS,
      examples: [{ run_id: RUN, events: 20 }],
      handle: (input, call) => call.runs.read(call, input),
    }),

    list_runs: defineAction({
      summary: 'Runs, newest first: {status?, agent_id?, before?: run_id, limit?}.',
      mutates: false,
      input: ListRunsInput,
      output: RunPage,
      errors: ['store_unavailable'],
      allow: READERS,
      examples: [{ status: 'open' }],
      handle: (input, call) => call.runs.list(call, input),
    }),

    complete_run: defineAction({
      summary: 'Say how a run ended: {run_id, success?, summary?, data?}.',
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
      handle: (input, call) => call.runs.complete(call, input),
    }),

    log_event: defineAction({
      summary: 'Note what happened in a run: {run_id, type: command_ran, …, or x.your_own, data?}.',
      mutates: true,
      input: LogEventInput,
      output: z.object({ seq: z.number().int(), timestamp: Timestamp }),
      errors: ['kind_forbidden', 'run_unknown', 'params_invalid', 'store_unavailable'],
      allow: ['agent'],
      examples: [
        { run_id: RUN, type: 'file_changed', data: { path: 'src/parser/lexer.ts' } },
        { run_id: RUN, type: 'x.deploy.started' },
      ],
      handle: (input, call) => call.runs.logEvent(call, input),
    }),

    checkpoint: defineAction({
      summary: 'Note how far a run is, for whoever goes on with it: {run_id, summary, data?}.',
      mutates: true,
      input: CheckpointInput,
      output: z.object({ run_id: RunId, at: Timestamp, checkpoints: z.number().int() }),
      errors: [
        ...(['kind_forbidden', 'run_unknown', 'run_completed', 'params_invalid'] as const),
        ...(['limit_reached', 'store_unavailable'] as const),
      ],
      allow: ['agent'],
      examples: [{ run_id: RUN, summary: 'lexer moved, parser still to do' }],
      handle: (input, call) => call.runs.checkpoint(call, input),
    }),

    context_pack: defineAction({
      summary: 'What a delegate has to know of a run, within a budget: {run_id, max_tokens?}.',
      mutates: false,
      input: ContextPackInput,
      output: ContextPack,
      errors: ['run_unknown', 'store_unavailable'],
      allow: READERS,
      examples: [{ run_id: RUN, max_tokens: 1_000 }],
      handle: (input, call) => call.runs.contextPack(call, input),
    }),

    assumptions: defineAction({
      summary: 'What a run stands on, and the share that broke: {run_id, add?: [], hold?: [], break?: []}.',
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
      handle: (input, call) => call.runs.assumptions(call, input),
    }),

    score_prompt: defineAction({
      summary: 'How well a prompt says what to do, 0 to 100, by a rule of thumb with reasons: {prompt}.',
      mutates: false,
      input: z.strictObject({ prompt: Prompt }),
      output: PromptScore,
      errors: [],
      allow: READERS,
      examples: [{ prompt: 'Fix the login.' }],
      handle: ({ prompt }, { runs }) => runs.scorePrompt(prompt),
    }),

    trace: defineAction({
      summary: 'Who delegated what to whom, from a run downwards: {run_id, depth?}.',
      mutates: false,
      input: TraceInput,
      output: Trace,
      errors: ['run_unknown', 'store_unavailable'],
      allow: READERS,
      examples: [{ run_id: RUN }],
      handle: (input, call) => call.runs.trace(call, input),
    }),
  },
})
