/** What takes several calls elsewhere, and one here. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { BatchAnswer, BatchRequest } from '../contracts/http.ts'
import { Json } from '../contracts/ids.ts'
import { Report, WorkflowCheck } from '../contracts/routine.ts'

const dry_run = z.boolean().default(false)
const Sections = z.object({
  /** Null where it is not to be had. */
  sections: z.record(z.string(), Json),
  /** Why, by the code of what refused it. */
  missing: z.record(z.string(), z.string()),
})
const Checked = z.object({ ready: z.boolean(), checks: z.array(WorkflowCheck) })

export const workflow = defineFacade({
  name: 'workflow',
  summary: 'Several calls as one.',
  compact: 'Several calls as one.',
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
      handle: (_, call) => call.workflow.status(call),
    }),

    preflight: defineAction({
      summary: 'Whether the project can be shipped: {dry_run?}.',
      mutates: true,
      harmless: (input) => input.dry_run,
      input: z.strictObject({ dry_run }),
      output: Checked.extend({ report: Report }),
      errors: ['limit_reached'],
      allow: ['agent'],
      handle: (input, call) => call.workflow.preflight(call, input),
    }),

    ship: defineAction({
      summary: 'Preflight, then the configured commands: {dry_run?}.',
      mutates: true,
      harmless: (input) => input.dry_run,
      destructive: true,
      input: z.strictObject({ dry_run }),
      output: Checked.extend({ shipped: z.boolean(), report: Report.nullable() }),
      errors: ['workflow_unconfigured', 'limit_reached'],
      allow: ['agent'],
      handle: (input, call) => call.workflow.ship(call, input),
    }),

    investigate: defineAction({
      summary: 'What is known about something: {query}.',
      mutates: false,
      input: z.strictObject({ query: z.string().min(1).max(200) }),
      output: Sections,
      errors: ['limit_reached'],
      allow: READERS,
      examples: [{ query: 'retry_after_ms' }],
      handle: (input, call) => call.workflow.investigate(call, input),
    }),

    batch: defineAction({
      summary: 'Calls in parallel: {calls: [{facade, action, params?}]}.',
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
