/** Finds and calls actions outside the tool list, which saves context. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { fromProblem } from '../contracts/errors/errors.ts'
import { Json } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'

const SEARCH_LIMIT_DEFAULT = 8
const QUERY_LENGTH_MAX = 400

const Name = z.string().min(1).max(128)
export const tool = defineFacade({
  name: 'tool',
  summary: 'Find, describe and call any action, also unlisted ones.',
  compact: 'Find and call any action.',
  facet: 'core',
  listed: true,
  everywhere: true,
  actions: {
    search: defineAction({
      summary: 'Find actions by words: {query, limit?}.',
      own_tool: {
        description:
          'Find what turnbell can do beyond the listed tools: names and one line each. Then tool_describe, then tool_invoke.',
      },
      mutates: false,
      input: z.strictObject({
        query: z.string().min(1).max(QUERY_LENGTH_MAX),
        limit: z.number().int().min(1).max(LIMITS.search_results_max).default(SEARCH_LIMIT_DEFAULT),
      }),
      output: z.object({
        tools: z.array(z.object({ name: z.string(), summary: z.string(), mutates: z.boolean() })),
      }),
      errors: [],
      allow: READERS,
      examples: [{ query: 'who blocks whom' }],
      handle: ({ query, limit }, { kernel }) => ({ tools: kernel.search(query, limit) }),
    }),

    describe: defineAction({
      summary: 'Parameters, examples and errors of an action, or the actions of a facade: {name, kind?}.',
      own_tool: {
        description:
          'Parameters, examples and errors of one action (signals_send), the actions of a facade, or with kind what a record holds.',
      },
      mutates: false,
      input: z.strictObject({ name: Name, kind: Name.optional() }),
      output: z.record(z.string(), Json),
      errors: [
        ...(['facade_unknown', 'action_unknown', 'kind_unknown'] as const),
        ...(['facet_forbidden', 'facade_forbidden', 'pro_required'] as const),
      ],
      allow: READERS,
      examples: [{ name: 'signals_send' }, { name: 'signals' }, { name: 'store_put', kind: 'learning' }],
      handle: ({ name, kind }, { kernel }) => kernel.describe(name, kind),
    }),

    invoke: defineAction({
      summary: 'Call any action by its name: {name, args?}.',
      own_tool: {
        description: 'Call any action by its name, such as signals_send, with its parameters as args.',
      },
      mutates: true,
      delegates: true,
      // Validated by the schema of the called action.
      input: z.strictObject({ name: Name, args: z.unknown().optional() }),
      output: Json,
      errors: ['facade_unknown', 'action_unknown', 'params_invalid', 'facet_forbidden', 'limit_reached'],
      allow: READERS,
      examples: [{ name: 'signals_inbox', args: { limit: 5 } }],
      async handle({ name, args }, { kernel }) {
        const outcome = await kernel.invoke(name, args)
        if (outcome.ok) return outcome.result
        throw fromProblem(outcome.problem)
      },
    }),
  },
})
