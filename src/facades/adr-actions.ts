/** Architecture decision records: decisions of one domain, told in the words that such records have. */
import { z } from 'zod'
import { query, RECORD_READ_ERRORS, RECORD_WRITE_ERRORS, RECORD_WRITERS } from './record-actions.ts'
import { defineAction, type Action, type Alias, READERS } from '../kernel/define.ts'
import { DECISION, DecisionSummary } from '../contracts/decision.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { Ulid, type Json } from '../contracts/ids.ts'
import { storedRecord } from '../contracts/record-schemas.ts'
import { RecordAgent, RecordScope } from '../contracts/records.ts'
import { snake } from '../contracts/names.ts'

const kind = DECISION.name
const DOMAIN = 'architecture'
const Decided = storedRecord(DECISION)
/** Of these one can still take the place. */
const STANDING: readonly unknown[] = ['active', 'provisional']

const Adr = DECISION.fields.omit({ domain: true, summary: true }).extend({
  title: DecisionSummary,
  decision: DECISION.fields.shape.decision.unwrap(),
  /** `provisional` until it is agreed on. */
  status: z.enum(['active', 'provisional']).default('active'),
  scope: RecordScope.optional(),
  agent_id: RecordAgent.optional(),
})

/** What other tools call a record that is proposed, or accepted. */
const STATUSES: Record<string, string> = { proposed: 'provisional', draft: 'provisional', accepted: 'active' }

/** In camel case, with an old word for a field where today's is not said. */
function todays(old: Record<string, unknown>, words: Record<string, string>): Record<string, unknown> {
  const said = Object.fromEntries(Object.entries(old).map(([name, value]) => [snake(name), value]))
  for (const [word, today] of Object.entries(words)) {
    const { [word]: value, ...rest } = said
    if (value === undefined) continue
    for (const name of Object.keys(said)) delete said[name]
    Object.assign(said, { [today]: value }, rest)
  }
  const { status } = said
  return typeof status === 'string' ? { ...said, status: STATUSES[status.toLowerCase()] ?? status } : said
}

/** It told a change, why, and what comes of it. */
const recordArchDecision: Alias = {
  name: 'architect_record_arch_decision',
  params(old) {
    const said = todays(old, { change: 'decision', impact: 'consequences' })
    const text = said['decision']
    if (said['title'] !== undefined || typeof text !== 'string') return said
    return { ...said, title: text.split('\n', 1)[0]?.slice(0, 200) }
  },
}
const createAdr: Alias = { name: 'architect_createAdr', params: (old) => todays(old, {}) }

export const ADR_ACTIONS: Record<'create_adr' | 'read_adr' | 'list_adrs', Action> = {
  create_adr: defineAction({
    summary:
      'Record a decision on architecture: {title, decision, context?, consequences?, status?, supersedes?}.',
    mutates: true,
    aliases: [recordArchDecision, createAdr],
    input: Adr,
    output: Decided,
    errors: [...RECORD_WRITE_ERRORS, 'record_unknown', 'record_too_large', 'transition_forbidden'],
    allow: RECORD_WRITERS,
    examples: [
      {
        title: 'Keep signals in a journal',
        context: 'A receipt must survive a crash.',
        decision: 'Signals are appended to a file and synced before the receipt leaves.',
        consequences: 'No query language; compaction is ours to do.',
      },
    ],
    async handle({ title, status, ...fields }, call) {
      const { supersedes } = fields
      const former = supersedes === undefined ? null : await call.records.get(call, { kind, id: supersedes })
      const record = { domain: DOMAIN, summary: title, ...fields }
      const put = await call.records.put(call, { kind, record: record as Record<string, Json> })
      // Last, so that no decision is called superseded by one that there is not.
      if (former !== null && STANDING.includes(former.status)) {
        await call.records.move(call, { kind, id: former.id, to: 'superseded' })
      }
      return status === 'active' ? put : call.records.move(call, { kind, id: put.id, to: status })
    },
  }),

  read_adr: defineAction({
    summary: 'One decision on architecture: {id}.',
    mutates: false,
    input: z.strictObject({ id: Ulid }),
    output: Decided,
    errors: [...RECORD_READ_ERRORS, 'record_unknown'],
    allow: READERS,
    examples: [{ id: '01JZ0000000000000000000000' }],
    async handle({ id }, call) {
      const found = await call.records.get(call, { kind, id })
      if (found['domain'] === DOMAIN) return found
      throw new TurnbellError('record_unknown', { detail: `The decision ${id} is not on ${DOMAIN}.` })
    },
  }),

  list_adrs: query(DECISION, 'Decisions on architecture: {status?, affected_files?, text?, limit?}.', {
    always: { domain: DOMAIN },
    examples: [{ status: 'active' }],
  }),
}
