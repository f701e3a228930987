/** What agents and people think of turnbell and of how the work goes. */
import * as z from 'zod'
import { create, query } from './record-actions.ts'
import { Tags, Text } from './record-fields.ts'
import { defineFacade } from '../kernel/define.ts'
import type { RecordKind } from '../contracts/records.ts'

const Feedback: RecordKind = {
  name: 'feedback',
  summary: 'What somebody thinks of the tools or of how the work goes.',
  keeper: 'project',
  fields: z.strictObject({ text: Text, tags: Tags }),
  examples: [{ text: 'The summary of open needs saved me a long search.', tags: ['context'] }],
}

export const feedback = defineFacade({
  name: 'feedback',
  summary: 'What agents and people think of the tools and of how the work goes.',
  compact: 'Feedback on tools and work.',
  facet: 'knowledge',
  kinds: [Feedback],
  actions: {
    submit: create(Feedback, 'Say what you think: {text, tags?}.'),
    list: query(Feedback, 'What was said: {text?, tags?, since?, limit?}.', {
      examples: [{ tags: 'context', limit: 5 }],
    }),
  },
})
