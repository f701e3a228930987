/** Decisions of a project, with their reasons and rejected alternatives. */
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import {
  CommitLinked,
  Decided,
  DecideInput,
  DECISION_KIND,
  DecisionList,
  DecisionTrace,
  LinkCommitInput,
  ListDecisionsInput,
  Overridden,
  OverrideInput,
  Reconsidered,
  ReconsiderInput,
  SearchDecisionsAnswer,
  SearchDecisionsInput,
  TraceDecisionInput,
  WhyAnswer,
  WhyInput,
} from '../contracts/memory/decision.ts'
import { MEMORY_READ_ERRORS } from './lib/record-fields.ts'

const CHANGE_ERRORS = [...MEMORY_READ_ERRORS, 'record_unknown', 'record_too_large'] as const
const ID = '01JZ0000000000000000000000'

export const decisions = defineFacade({
  name: 'decisions',
  summary: 'Decisions of this project, their reasons and rejected alternatives.',
  overview:
    'Decisions with their reasons. why {scope: path or symbol} before you change it. decide {domain, scope, summary, context, ' +
    'rationale, alternatives?: [{option, reason_rejected}], confidence?, supersedes?, affected_files?}. trace {decision_id}, ' +
    'reconsider {decision_id, new_context}, override {decision_id, reason, new_decision?}. list, search {query}, link_commit.',
  compact: 'Decisions and why.',
  agent_hint:
    'Before you change code, ask `decisions why` {scope: its path}. After a choice others must live with, `decisions decide` ' +
    'with the rationale, at least one alternative with reason_rejected, and confidence: high (researched, tested), medium (some ' +
    'doubt) or low (a guess). Look at the status before you rely on a provisional one; change it only by `decisions reconsider`.',
  facet: 'core',
  listed: true,
  kinds: [DECISION_KIND],
  actions: {
    decide: defineAction({
      summary:
        'Record a decision: {domain, scope, summary, context, rationale, alternatives?: [{option, reason_rejected}], …}.',
      mutates: true,
      aliases: ['twining_decide'],
      input: DecideInput,
      output: Decided,
      errors: CHANGE_ERRORS,
      allow: ['agent'],
      examples: [
        {
          domain: 'architecture',
          scope: 'src/storage/',
          summary: 'Keep signals in an append-only file',
          context: 'A receipt must survive a crash.',
          rationale: 'One synced append is the cheapest durable write there is.',
          alternatives: [{ option: 'SQLite', reason_rejected: 'A native build, and twice the latency.' }],
          affected_files: ['src/storage/journal.ts'],
        },
      ],
      async handle(input, call) {
        const { id, timestamp, status, conflicts } = await call.modules.decisions.decide(call, input)
        return { id, timestamp, status, conflicts }
      },
    }),

    why: defineAction({
      summary: 'Decisions about a path, a module or a symbol, with reasons: {scope, limit?}.',
      mutates: false,
      aliases: ['twining_why'],
      input: WhyInput,
      output: WhyAnswer,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{ scope: 'src/storage/journal.ts' }],
      handle: (input, call) => call.modules.decisions.why(call, input),
    }),

    trace: defineAction({
      summary: 'Decisions that a decision depends on, and that depend on it: {decision_id, direction?}.',
      mutates: false,
      aliases: ['twining_trace'],
      input: TraceDecisionInput,
      output: DecisionTrace,
      errors: [...MEMORY_READ_ERRORS, 'record_unknown'],
      allow: READERS,
      examples: [{ decision_id: ID, direction: 'upstream' }],
      handle: (input, call) => call.modules.decisions.trace(call, input),
    }),

    reconsider: defineAction({
      summary:
        'Question a decision: {decision_id, new_context}. It is provisional until {stands: true} or an override.',
      mutates: true,
      aliases: ['twining_reconsider'],
      input: ReconsiderInput,
      output: Reconsidered,
      errors: CHANGE_ERRORS,
      allow: ['agent'],
      examples: [{ decision_id: ID, new_context: 'The load has tripled since.' }],
      handle: (input, call) => call.modules.decisions.reconsider(call, input),
    }),

    override: defineAction({
      summary: 'Override a decision: {decision_id, reason, new_decision?: its replacement, overridden_by?}.',
      mutates: true,
      aliases: ['twining_override'],
      input: OverrideInput,
      output: Overridden,
      errors: [...CHANGE_ERRORS, 'transition_forbidden'],
      allow: ['agent'],
      examples: [{ decision_id: ID, reason: 'Legal forbids it.', new_decision: 'Use the audited library' }],
      handle: (input, call) => call.modules.decisions.override(call, input),
    }),

    list: defineAction({
      summary:
        'Decisions, newest first: {status?, domain?, scope?, confidence?, text?, since?, commit_hash?, limit?}.',
      mutates: false,
      aliases: ['twining_commits'],
      input: ListDecisionsInput,
      output: DecisionList,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{ status: 'provisional' }],
      handle: (input, call) => call.modules.decisions.list(call, input),
    }),

    search: defineAction({
      summary: 'Decisions that match a text, best first: {query, status?, domain?, limit?}.',
      mutates: false,
      aliases: ['twining_search_decisions'],
      input: SearchDecisionsInput,
      output: SearchDecisionsAnswer,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{ query: 'how are receipts made durable' }],
      handle: (input, call) => call.modules.decisions.search(call, input),
    }),

    link_commit: defineAction({
      summary: 'Link a commit that implements a decision: {decision_id, commit_hash}.',
      mutates: true,
      idempotent: true,
      aliases: ['twining_link_commit'],
      input: LinkCommitInput,
      output: CommitLinked,
      errors: [...CHANGE_ERRORS, 'limit_reached'],
      allow: ['agent'],
      examples: [{ decision_id: ID, commit_hash: '3c8f08b' }],
      handle: (input, call) => call.modules.decisions.linkCommit(call, input),
    }),
  },
})
