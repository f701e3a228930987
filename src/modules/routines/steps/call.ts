/** Calls any action with the permissions of the caller. */
import * as z from 'zod'
import { defineStep } from '../step-type.ts'
import { GivenParams } from '../../../contracts/runs/routine.ts'

const Name = z.string().min(1).max(128)

export const callStep = defineStep({
  name: 'call',
  summary: 'Calls an action; its answer is the result.',
  mutates: ({ facade, action, params }, { kernel }) => kernel.check(facade, action, params).mutates,
  input: z.strictObject({ facade: Name, action: Name, params: GivenParams.default({}) }),
  check: ({ facade, action, params }, { kernel }) => void kernel.check(facade, action, params),
  async run({ facade, action, params }, { kernel }) {
    const outcome = await kernel.call(facade, action, params)
    return outcome.ok ? { result: outcome.result } : { failure: outcome.problem }
  },
})
