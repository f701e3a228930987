/** Feedback of agents and people on the tools and the work. */
import * as z from 'zod'
import { create, query } from './lib/record-actions.ts'
import { Tags, Text } from './lib/record-fields.ts'
import { defineFacade } from '../kernel/define.ts'
import type { RecordKind } from '../contracts/memory/records.ts'

const Feedback: RecordKind = {
  name: 'feedback',
  summary: 'Feedback on the tools or the work.',
  keeper: 'project',
  fields: z.strictObject({ text: Text, tags: Tags }),
  examples: [{ text: 'The summary of open needs saved me a long search.', tags: ['context'] }],
}

export const feedback = defineFacade({
  name: 'feedback',
  summary: 'Feedback of agents and people on the tools and the work.',
  compact: 'Feedback on tools and work.',
  facet: 'knowledge',
  kinds: [Feedback],
  actions: {
    submit: create(Feedback, 'Submit feedback: {text, tags?}.'),
    list: query(Feedback, 'Feedback, newest first: {text?, tags?, since?, limit?}.', {
      examples: [{ tags: 'context', limit: 5 }],
    }),
  },
})
