/** What gets in the way of work, counted, so that what hurts most is mended first. */
import * as z from 'zod'
import { close, create, increment, query } from './record-actions.ts'
import { Tags, Text } from './record-fields.ts'
import { defineFacade } from '../kernel/define.ts'
import type { RecordKind } from '../contracts/records.ts'

const Friction: RecordKind = {
  name: 'friction',
  summary: 'Something that gets in the way of work.',
  keeper: 'project',
  fields: z.strictObject({
    text: Text,
    tags: Tags,
    /** How often it was met. */
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
  summary: 'What gets in the way of work, and how often.',
  overview:
    'What gets in the way of work: log {text, tags?}, list {status?, text?}, bump {id}: met again, resolve {id, resolution?}.',
  compact: 'What hinders work.',
  facet: 'knowledge',
  kinds: [Friction],
  actions: {
    log: create(Friction, 'Note what gets in the way: {text, tags?}.', { omit: ['count'] }),
    list: query(Friction, 'What got in the way: {status?, text?, tags?, limit?}.', {
      examples: [{ status: 'open' }],
    }),
    bump: increment(Friction, 'count', 'Say that it was met again: {id}.'),
    resolve: close(Friction, 'Say that it is gone: {id, resolution?}.', {
      example: { resolution: 'The tests make a database of their own.' },
    }),
  },
})
