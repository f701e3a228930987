/** What was learned on the way and should not have to be learned again. */
import * as z from 'zod'
import { create, query } from './record-actions.ts'
import { Tags, Text } from './record-fields.ts'
import { defineFacade } from '../kernel/define.ts'
import type { RecordKind } from '../contracts/records.ts'

const Learning: RecordKind = {
  name: 'learning',
  summary: 'Something that was learned and should not have to be learned again.',
  keeper: 'project',
  fields: z.strictObject({ text: Text, tags: Tags }),
  examples: [{ text: 'The tests need a free port.', tags: ['tests'], scope: 'test/' }],
}

export const learnings = defineFacade({
  name: 'learnings',
  summary: 'What was learned in this project and should not have to be learned again.',
  compact: 'What was learned.',
  facet: 'knowledge',
  kinds: [Learning],
  actions: {
    append: create(Learning, 'Note what you learned: {text, tags?, scope?}.'),
    list: query(Learning, 'What was learned: {text?, tags?, scope?, limit?}.', {
      examples: [{ text: 'port' }],
    }),
  },
})
