/** Policies of the architecture, and architecture decisions. */
import * as z from 'zod'
import { ADR_ACTIONS } from './lib/adr-actions.ts'
import { create, query, read } from './lib/record-actions.ts'
import { Tags, Text, Title } from './lib/record-fields.ts'
import { defineFacade } from '../kernel/define.ts'
import type { RecordKind } from '../contracts/memory/records.ts'

const Policy: RecordKind = {
  name: 'policy',
  summary: 'A rule for all code of this project.',
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
  summary: 'Architecture decisions, and policies: rules for all code of this project.',
  overview:
    'Architecture: create_adr {title, decision, context?, consequences?} records a decision, create_policy ' +
    '{title, text} adds a rule for all code. Read by {id}; list by {status?, text?}.',
  compact: 'Decisions and policies.',
  facet: 'design',
  kinds: [Policy],
  actions: {
    ...ADR_ACTIONS,
    create_policy: create(Policy, 'Add a policy: {title, text, severity?, tags?}.'),
    read_policy: read(Policy, 'One policy: {id}.'),
    list_policies: query(Policy, 'Policies: {status?, severity?, text?, limit?}.', {
      examples: [{ status: 'active' }],
    }),
  },
})
