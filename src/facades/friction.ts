/** Obstacles to work, counted, so that the most frequent one is fixed first. */
import * as z from 'zod'
import { close, create, increment, query } from './lib/record-actions.ts'
import { Tags, Text } from './lib/record-fields.ts'
import { defineFacade } from '../kernel/define.ts'
import type { RecordKind } from '../contracts/memory/records.ts'

const Friction: RecordKind = {
  name: 'friction',
  summary: 'An obstacle to work.',
  keeper: 'project',
  fields: z.strictObject({
    text: Text,
    tags: Tags,
    /** Number of occurrences. */
    count: z.number().int().min(1).default(1),
  }),
  status: {
    initial: 'open',
    moves: { open: ['resolved'] },
    closing: { to: 'resolved', fields: { resolution: Text.optional() } },
  },
  examples: [{ text: 'The test database has to be reset by hand.', tags: ['tests'] }],
}

export const friction = defineFacade({
  name: 'friction',
  summary: 'Obstacles to work, and how often they occur.',
  overview:
    'Obstacles to work: log {text, tags?}, list {status?, text?}, bump {id}: it occurred again, resolve {id, resolution?}.',
  compact: 'Obstacles to work.',
  facet: 'knowledge',
  kinds: [Friction],
  actions: {
    log: create(Friction, 'Log an obstacle: {text, tags?}.', { omit: ['count'] }),
    list: query(Friction, 'Obstacles: {status?, text?, tags?, limit?}.', {
      examples: [{ status: 'open' }],
    }),
    bump: increment(Friction, 'count', 'Count another occurrence: {id}.'),
    resolve: close(Friction, 'Mark an obstacle as resolved: {id, resolution?}.', {
      example: { resolution: 'The tests make a database of their own.' },
    }),
  },
})
