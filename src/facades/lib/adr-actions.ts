/** Architecture decision records: decisions of one domain, with the usual fields of such records. */
import * as z from 'zod'
import { MEMORY_READ_ERRORS } from './record-fields.ts'
import { defineAction, type Action, type Alias, READERS } from '../../kernel/define.ts'
import {
  DecideInput,
  Decided,
  Decision,
  DecisionList,
  ListDecisionsInput,
} from '../../contracts/memory/decision.ts'
import { MemorySummary, MemoryText } from '../../contracts/memory/entry.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { Ulid } from '../../contracts/ids.ts'
import { toSnakeCase } from '../../contracts/text/names.ts'
import { RecordScope, SCOPE_DEFAULT } from '../../contracts/memory/records.ts'

const DOMAIN = 'architecture'

const Adr = DecideInput.omit({ domain: true, summary: true }).extend({
  title: MemorySummary,
  decision: MemoryText.min(1),
  /** Consequences of the decision, positive and negative. */
  consequences: MemoryText.min(1).optional(),
  context: DecideInput.shape.context.optional(),
  rationale: DecideInput.shape.rationale.optional(),
  /** `provisional` until there is agreement. */
  status: z.enum(['active', 'provisional']).default('active'),
  scope: RecordScope.default(SCOPE_DEFAULT),
})

/** Statuses of other tools. */
const STATUSES: Record<string, string> = { proposed: 'provisional', draft: 'provisional', accepted: 'active' }

/** Converts parameters from camel case, and renames deprecated fields. */
function currentParams(old: Record<string, unknown>, words: Record<string, string>): Record<string, unknown> {
  const params = Object.fromEntries(Object.entries(old).map(([name, value]) => [toSnakeCase(name), value]))
  for (const [word, current] of Object.entries(words)) {
    const { [word]: value, ...rest } = params
    if (value === undefined) continue
    for (const name of Object.keys(params)) delete params[name]
    Object.assign(params, { [current]: value }, rest)
  }
  const { status } = params
  return typeof status === 'string' ? { ...params, status: STATUSES[status.toLowerCase()] ?? status } : params
}

/** Alias of a deprecated tool with the parameters change, rationale and impact. */
const recordArchDecision: Alias = {
  name: 'architect_record_arch_decision',
  params(old) {
    const params = currentParams(old, { change: 'decision', impact: 'consequences' })
    const text = params['decision']
    if (params['title'] !== undefined || typeof text !== 'string') return params
    return { ...params, title: text.split('\n', 1)[0]?.slice(0, 200) }
  },
}
const createAdr: Alias = { name: 'architect_createAdr', params: (old) => currentParams(old, {}) }

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
    async handle({ title, rationale, ...params }, call) {
      const { decision, conflicts } = await call.modules.decisions.decide(call, {
        ...params,
        ...{ domain: DOMAIN, summary: title, rationale: rationale ?? params.consequences ?? params.decision },
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
      const found = await call.modules.decisions.read(call, id)
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
    handle: (input, call) => call.modules.decisions.list(call, { ...input, domain: DOMAIN }),
  }),
}
