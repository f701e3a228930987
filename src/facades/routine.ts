/** Routines: several steps as one call, with a report of each step. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { Json, Ulid } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import {
  GivenParams,
  KeptReport,
  Report,
  RoutineLine,
  RoutineName,
  RoutineSteps,
  StepTypeLine,
  StepTypeName,
} from '../contracts/runs/routine.ts'

const dry_run = z.boolean().default(false)
/** Name of a configured or built-in routine. */
const ReportedName = z.string().regex(/^[a-z][a-z0-9_.-]{0,63}$/, 'the name of a routine')

export const routine = defineFacade({
  name: 'routine',
  summary: 'Run several steps as one call, with one report.',
  compact: 'Combined steps.',
  facet: 'core',
  listed: true,
  actions: {
    run: defineAction({
      summary: 'Run a configured routine: {name, params?, dry_run?}.',
      mutates: true,
      harmless: (input) => input.dry_run,
      destructive: true,
      input: z.strictObject({ name: RoutineName, params: GivenParams.default({}), dry_run }),
      output: Report,
      errors: ['routine_unknown', 'params_invalid', 'limit_reached'],
      allow: ['agent'],
      examples: [{ name: 'nightly', params: { branch: 'main' }, dry_run: true }],
      handle: (input, call) => call.modules.routines.run(call, input),
    }),

    list: defineAction({
      summary: 'Configured routines.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({ routines: z.array(RoutineLine), hint: z.string().optional() }),
      errors: [],
      allow: READERS,
      handle: (_, { modules: { routines } }) => routines.list(),
    }),

    step: defineAction({
      summary: 'Run one step: {step, with?, dry_run?}.',
      mutates: true,
      harmless: (input) => input.dry_run,
      destructive: true,
      input: z.strictObject({ step: StepTypeName, with: z.record(z.string(), Json).optional(), dry_run }),
      output: Report,
      errors: ['limit_reached'],
      allow: ['agent'],
      examples: [{ step: 'exec', with: { argv: ['npm', 'test'] } }],
      handle: (input, call) => call.modules.routines.step(call, input),
    }),

    report: defineAction({
      summary: 'Newest reports: {name?, report_id?, limit?}.',
      mutates: false,
      input: z.strictObject({
        name: ReportedName.optional(),
        report_id: Ulid.optional(),
        limit: z.number().int().min(1).max(LIMITS.reports_page_max).default(1),
      }),
      output: z.object({ reports: z.array(KeptReport) }),
      errors: ['report_unknown', 'store_unavailable'],
      allow: READERS,
      examples: [{ name: 'nightly', limit: 5 }],
      handle: async (input, call) => ({ reports: await call.modules.routines.reports(call, input) }),
    }),

    steps: defineAction({
      summary: 'The step types.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({ steps: z.array(StepTypeLine) }),
      errors: [],
      allow: READERS,
      handle: (_, { modules: { routines } }) => ({ steps: routines.steps() }),
    }),

    eval: defineAction({
      summary: 'Run the given steps: {steps: [{id?, step, with?, needs?, required?}], params?, dry_run?}.',
      mutates: true,
      harmless: (input) => input.dry_run,
      destructive: true,
      input: z.strictObject({ steps: RoutineSteps, params: GivenParams.default({}), dry_run }),
      output: Report,
      errors: ['params_invalid', 'limit_reached'],
      allow: ['agent'],
      examples: [
        {
          steps: [
            {
              id: 'look',
              step: 'call',
              with: { facade: 'signals', action: 'inbox', params: { status: ['dead'] } },
            },
            { step: 'expect', with: { value: { $from: 'look.signals' }, is_empty: true } },
          ],
        },
      ],
      handle: (input, call) => call.modules.routines.eval(call, input),
    }),
  },
})
