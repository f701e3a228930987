/** The rules that design has to keep. */
import { z } from 'zod'
import { create, query, read } from './record-actions.ts'
import { Tags, Text, Title } from './record-fields.ts'
import { defineFacade } from '../kernel/define.ts'
import type { RecordKind } from '../contracts/records.ts'

const Policy: RecordKind = {
  name: 'policy',
  summary: 'A rule that everything built here has to keep.',
  keeper: 'project',
  fields: z.strictObject({
    title: Title,
    text: Text,
    severity: z.enum(['info', 'warning', 'error']).default('warning'),
    tags: Tags,
  }),
  status: { initial: 'active', moves: { active: ['retired'] }, closing: { to: 'retired' } },
  examples: [{ title: 'No network in unit tests', text: 'They run on loopback only.', severity: 'error' }],
}

export const architect = defineFacade({
  name: 'architect',
  summary: 'Policies: the rules that everything built here has to keep.',
  compact: 'Policies of the design.',
  facet: 'design',
  kinds: [Policy],
  actions: {
    create_policy: create(Policy, 'Set a rule: {title, text, severity?, tags?}.'),
    read_policy: read(Policy, 'One policy: {id}.'),
    list_policies: query(Policy, 'Policies: {status?, severity?, text?, limit?}.', {
      examples: [{ status: 'active' }],
    }),
  },
})
