/** Lessons learned in a project. */
import * as z from 'zod'
import { create, query } from './lib/record-actions.ts'
import { Tags, Text } from './lib/record-fields.ts'
import { defineFacade } from '../kernel/define.ts'
import type { RecordKind } from '../contracts/memory/records.ts'

const Learning: RecordKind = {
  name: 'learning',
  summary: 'A lesson that others should not have to learn again.',
  keeper: 'project',
  fields: z.strictObject({ text: Text, tags: Tags }),
  examples: [{ text: 'The tests need a free port.', tags: ['tests'], scope: 'test/' }],
}

export const learnings = defineFacade({
  name: 'learnings',
  summary: 'Lessons of this project that others should not have to learn again.',
  compact: 'Lessons learned.',
  facet: 'knowledge',
  kinds: [Learning],
  actions: {
    append: create(Learning, 'Record a lesson: {text, tags?, scope?}.'),
    list: query(Learning, 'Lessons: {text?, tags?, scope?, limit?}.', {
      examples: [{ text: 'port' }],
    }),
  },
})
