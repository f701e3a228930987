/** Any action of any facade, judged as if its caller called it. */
import { z } from 'zod'
import { defineStep } from '../step-type.ts'
import { GivenParams } from '../../../contracts/routine.ts'

const Name = z.string().min(1).max(128)
/** The report may show only the beginning of its answer. */
const SHORTENED = { shortened: true } as const

export const callStep = defineStep({
  name: 'call',
  summary: 'Calls an action; its answer is the result.',
  mutates: ({ facade, action, params }, { kernel }) =>
    kernel.check(facade, action, params, SHORTENED).mutates,
  input: z.strictObject({ facade: Name, action: Name, params: GivenParams.default({}) }),
  check: ({ facade, action, params }, { kernel }) => void kernel.check(facade, action, params, SHORTENED),
  async run({ facade, action, params }, { kernel }) {
    const outcome = await kernel.call(facade, action, params, SHORTENED)
    return outcome.ok ? { result: outcome.result } : { failure: outcome.problem }
  },
})
