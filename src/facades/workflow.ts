/** Workflows: several calls combined into one. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { BatchAnswer, BatchRequest } from '../contracts/http.ts'
import { Json } from '../contracts/ids.ts'
import { Report, WorkflowCheck } from '../contracts/runs/routine.ts'

const dry_run = z.boolean().default(false)
const Sections = z.object({
  /** Null for an unavailable section. */
  sections: z.record(z.string(), Json),
  /** Error codes of unavailable sections. */
  missing: z.record(z.string(), z.string()),
})
const Checked = z.object({ ready: z.boolean(), checks: z.array(WorkflowCheck) })

export const workflow = defineFacade({
  name: 'workflow',
  summary: 'Combine several calls.',
  compact: 'Combined calls.',
  facet: 'core',
  listed: true,
  micro: ['status', 'preflight', 'ship', 'investigate'],
  actions: {
    status: defineAction({
      summary: 'Repository, team, your signals, open records, reports.',
      mutates: false,
      input: z.strictObject({}),
      output: Sections,
      errors: ['limit_reached'],
      allow: READERS,
      handle: (_, call) => call.modules.workflow.status(call),
    }),

    preflight: defineAction({
      summary: 'Check whether the project can be shipped: {dry_run?}.',
      mutates: true,
      harmless: (input) => input.dry_run,
      input: z.strictObject({ dry_run }),
      output: Checked.extend({ report: Report }),
      errors: ['limit_reached'],
      allow: ['agent'],
      handle: (input, call) => call.modules.workflow.preflight(call, input),
    }),

    ship: defineAction({
      summary: 'Run preflight, then the configured commands: {dry_run?}.',
      mutates: true,
      harmless: (input) => input.dry_run,
      destructive: true,
      input: z.strictObject({ dry_run }),
      output: Checked.extend({ shipped: z.boolean(), report: Report.nullable() }),
      errors: ['workflow_unconfigured', 'limit_reached'],
      allow: ['agent'],
      handle: (input, call) => call.modules.workflow.ship(call, input),
    }),

    investigate: defineAction({
      summary: 'Search everything known about a topic: {query}.',
      mutates: false,
      input: z.strictObject({ query: z.string().min(1).max(200) }),
      output: Sections,
      errors: ['limit_reached'],
      allow: READERS,
      examples: [{ query: 'retry_after_ms' }],
      handle: (input, call) => call.modules.workflow.investigate(call, input),
    }),

    batch: defineAction({
      summary: 'Run calls in parallel: {calls: [{facade, action, params?}]}.',
      mutates: true,
      delegates: true,
      input: BatchRequest.pick({ calls: true }).strict(),
      output: BatchAnswer,
      errors: ['params_invalid', 'limit_reached'],
      allow: READERS,
      examples: [
        {
          calls: [
            { facade: 'signals', action: 'inbox', params: { limit: 5 } },
            { facade: 'personas', action: 'list' },
          ],
        },
      ],
      handle: ({ calls }, { kernel }) => kernel.batch(calls),
    }),
  },
})
