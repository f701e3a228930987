/** The rules that design has to keep, and what was decided about it. */
import * as z from 'zod'
import { ADR_ACTIONS } from './adr-actions.ts'
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
  summary: 'Decisions on architecture, and policies: rules that everything here has to keep.',
  overview:
    'Architecture: create_adr {title, decision, context?, consequences?} records what was decided, create_policy ' +
    '{title, text} a rule for all that is built. Read by {id}; list by {status?, text?}.',
  compact: 'Decisions and policies.',
  facet: 'design',
  kinds: [Policy],
  actions: {
    ...ADR_ACTIONS,
    create_policy: create(Policy, 'Set a rule: {title, text, severity?, tags?}.'),
    read_policy: read(Policy, 'One policy: {id}.'),
    list_policies: query(Policy, 'Policies: {status?, severity?, text?, limit?}.', {
      examples: [{ status: 'active' }],
    }),
  },
})
