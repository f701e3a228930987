/** Improvements: wishes, proposals for them, and benchmarks. */
import * as z from 'zod'
import { create, query, RECORD_READ_ERRORS } from './lib/record-actions.ts'
import { Links, Reference, Text } from './lib/record-fields.ts'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import { storedRecord } from '../contracts/memory/record-schemas.ts'
import { PAGE_FIELDS, type RecordKind } from '../contracts/memory/records.ts'
import { BenchAnswer, ProgramArgv, ProgramDirectory } from '../contracts/runs/routine.ts'

const Wish: RecordKind = {
  name: 'wish',
  summary: 'A possible improvement.',
  keeper: 'project',
  fields: z.strictObject({ text: Text, links: Links }),
  status: {
    initial: 'open',
    moves: { open: ['proposed'] },
    closing: { to: 'proposed' },
  },
  examples: [{ text: 'A tool that finds dead links in the docs.' }],
}

const Proposal: RecordKind = {
  name: 'proposal',
  summary: 'A proposal for how to fulfil a wish.',
  keeper: 'project',
  fields: z.strictObject({ text: Text, wish_id: Reference.optional(), links: Links }),
  status: {
    initial: 'draft',
    moves: {
      draft: ['scaffolded', 'rejected'],
      scaffolded: ['run', 'rejected'],
      run: ['graduated', 'rejected'],
    },
    closing: { to: 'rejected', fields: { reason: Text } },
  },
  examples: [{ text: 'Walk the docs with a link checker.', wish_id: '01JZ0000000000000000000000' }],
}

const propose = create(Proposal, 'Propose how to fulfil a wish: {text, wish_id?, links?}.')

export const dojo = defineFacade({
  name: 'dojo',
  summary: 'Wishes, proposals for them, and benchmarks of programs.',
  overview:
    'Ideas: add_wish {text, links?}, create_proposal {text, wish_id?, links?}; list {limit?} shows both, list_wishes ' +
    '{status?, text?}. bench {argv, cwd?, runs?} times a program that the sandbox allows.',
  compact: 'Wishes, proposals, benchmarks.',
  facet: 'design',
  old_path: '/dojo',
  kinds: [Wish, Proposal],
  actions: {
    add_wish: create(Wish, 'Add a wish: {text, links?}.'),
    list_wishes: query(Wish, 'Wishes: {status?, text?, limit?}.', {
      examples: [{ status: 'open' }],
    }),
    create_proposal: {
      ...propose,
      errors: [...propose.errors, 'record_unknown'],
      async handle(input, call) {
        const { wish_id } = input as { wish_id?: string }
        if (wish_id === undefined) return propose.handle(input, call)
        await call.modules.records.get(call, { kind: Wish.name, id: wish_id })
        const proposal = await propose.handle(input, call)
        // Last, so that no wish is marked as proposed without a proposal.
        await call.modules.records.move(call, { kind: Wish.name, id: wish_id, to: 'proposed' })
        return proposal
      },
    },
    list: defineAction({
      summary: 'The newest wishes and proposals: {limit?}.',
      mutates: false,
      input: z.strictObject({ limit: PAGE_FIELDS.limit }),
      output: z.object({
        wishes: z.array(storedRecord(Wish)),
        proposals: z.array(storedRecord(Proposal)),
      }),
      errors: RECORD_READ_ERRORS,
      allow: READERS,
      async handle({ limit }, call) {
        const [wishes, proposals] = await Promise.all([
          call.modules.records.query(call, { kind: Wish.name, limit }),
          call.modules.records.query(call, { kind: Proposal.name, limit }),
        ])
        return { wishes: wishes.records, proposals: proposals.records }
      },
    }),
    bench: defineAction({
      summary: 'Times a program that the sandbox allows: {argv, cwd?, runs?, timeout_ms? for all}.',
      mutates: true,
      destructive: true,
      input: z.strictObject({
        argv: ProgramArgv,
        cwd: ProgramDirectory,
        runs: z.number().int().min(1).max(LIMITS.bench_runs_max).default(LIMITS.bench_runs_default),
        timeout_ms: z.number().int().min(100).max(LIMITS.program_ms_max).default(LIMITS.bench_ms),
      }),
      output: BenchAnswer,
      errors: ['leash_forbidden', 'project_unknown', 'program_failed', 'limit_reached'],
      allow: ['agent'],
      examples: [{ argv: ['npm', 'run', 'build'], runs: 3 }],
      handle: (input, call) => call.modules.routines.bench(call, input),
    }),
  },
})
