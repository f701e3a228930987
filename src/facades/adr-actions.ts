/** Architecture decision records: decisions of one domain, told in the words that such records have. */
import * as z from 'zod'
import { MEMORY_READ_ERRORS } from './memory-errors.ts'
import { defineAction, type Action, type Alias, READERS } from '../kernel/define.ts'
import { DecideInput, Decided, Decision, DecisionList, ListDecisionsInput } from '../contracts/decision.ts'
import { MemorySummary, MemoryText } from '../contracts/entry.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { Ulid } from '../contracts/ids.ts'
import { snake } from '../contracts/names.ts'
import { RecordScope, SCOPE_DEFAULT } from '../contracts/records.ts'

const DOMAIN = 'architecture'

const Adr = DecideInput.omit({ domain: true, summary: true }).extend({
  title: MemorySummary,
  decision: MemoryText.min(1),
  /** What follows from it, welcome or not. */
  consequences: MemoryText.min(1).optional(),
  context: DecideInput.shape.context.optional(),
  rationale: DecideInput.shape.rationale.optional(),
  /** `provisional` until it is agreed on. */
  status: z.enum(['active', 'provisional']).default('active'),
  scope: RecordScope.default(SCOPE_DEFAULT),
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
    output: Decision.extend({ conflicting: Decided.shape.conflicts }),
    errors: [...MEMORY_READ_ERRORS, 'record_unknown', 'record_too_large'],
    allow: ['agent'],
    examples: [
      {
        title: 'Keep signals in a journal',
        context: 'A receipt must survive a crash.',
        decision: 'Signals are appended to a file and synced before the receipt leaves.',
        consequences: 'No query language; compaction is ours to do.',
      },
    ],
    async handle({ title, rationale, ...said }, call) {
      const { decision, conflicts } = await call.decisions.decide(call, {
        ...said,
        ...{ domain: DOMAIN, summary: title, rationale: rationale ?? said.consequences ?? said.decision },
      })
      return { ...decision, conflicting: conflicts }
    },
  }),

  read_adr: defineAction({
    summary: 'One decision on architecture: {id}.',
    mutates: false,
    input: z.strictObject({ id: Ulid }),
    output: Decision,
    errors: [...MEMORY_READ_ERRORS, 'record_unknown'],
    allow: READERS,
    examples: [{ id: '01JZ0000000000000000000000' }],
    async handle({ id }, call) {
      const found = await call.decisions.read(call, id)
      if (found.domain === DOMAIN) return found
      throw new TurnbellError('record_unknown', { detail: `The decision ${id} is not on ${DOMAIN}.` })
    },
  }),

  list_adrs: defineAction({
    summary: 'Decisions on architecture, newest first: {status?, scope?, text?, since?, limit?}.',
    mutates: false,
    input: ListDecisionsInput.omit({ domain: true }),
    output: DecisionList,
    errors: MEMORY_READ_ERRORS,
    allow: READERS,
    examples: [{ status: 'active' }],
    handle: (input, call) => call.decisions.list(call, { ...input, domain: DOMAIN }),
  }),
}
