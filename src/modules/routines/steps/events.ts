/** Reads events that the caller may read. */
import * as z from 'zod'
import { defineStep } from '../step-type.ts'

const LIMIT_MAX = 200

export const eventsStep = defineStep({
  name: 'events',
  summary: 'Looks back at the event stream, newest first.',
  mutates: false,
  input: z.strictObject({
    /** Exact types, or prefixes that end with a dot: `signal.` */
    types: z.array(z.string().min(1).max(64)).min(1).max(20).optional(),
    /** Text in the data of the event, ignoring case. */
    text: z.string().min(1).max(400).optional(),
    limit: z.number().int().min(1).max(LIMIT_MAX).default(20),
  }),
  run: (input, { kernel }) => ({ result: { events: kernel.events(input) } }),
})
