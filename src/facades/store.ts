/** Records of any kind, so that kinds need no facade of their own. */
import * as z from 'zod'
import { RECORD_READ_ERRORS, RECORD_WRITE_ERRORS, RECORD_WRITERS } from './lib/record-actions.ts'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { Json, Ulid } from '../contracts/ids.ts'
import { FilterValue, KeptRecord, PAGE_FIELDS, RecordPage } from '../contracts/memory/records.ts'

// Any text, so that an unknown kind is answered with the known ones.
const Kind = z.string().min(1).max(128)
const Fields = z.record(z.string(), Json)

export const store = defineFacade({
  name: 'store',
  summary: 'Put, find and close records of any kind: issues, wishes, learnings and more.',
  compact: 'Records of any kind.',
  facet: 'core',
  listed: true,
  actions: {
    put: defineAction({
      summary: 'Create a record, or change the one with its id: {kind, record}.',
      mutates: true,
      input: z.strictObject({ kind: Kind, record: Fields }),
      output: KeptRecord,
      errors: [
        ...RECORD_WRITE_ERRORS,
        ...(['kind_unknown', 'kind_readonly', 'record_unknown'] as const),
        ...(['record_too_large', 'transition_forbidden'] as const),
      ],
      allow: RECORD_WRITERS,
      examples: [{ kind: 'learning', record: { text: 'The tests need a free port.', tags: ['tests'] } }],
      handle: (input, call) => call.modules.records.put(call, input),
    }),

    query: defineAction({
      summary: 'Find records: {kind, filter?: {status?, text?, since?, …any field}, sort?, limit?, after?}.',
      mutates: false,
      input: z.strictObject({
        kind: Kind,
        filter: z.record(z.string(), FilterValue).optional(),
        ...PAGE_FIELDS,
      }),
      output: RecordPage,
      errors: [...RECORD_READ_ERRORS, 'kind_unknown'],
      allow: READERS,
      examples: [{ kind: 'issue', filter: { status: 'open', text: 'login' }, sort: '-created_at', limit: 5 }],
      handle: (input, call) => call.modules.records.query(call, input),
    }),

    close: defineAction({
      summary: 'Close a record: {kind, id, fields?}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({ kind: Kind, id: Ulid, fields: Fields.optional() }),
      output: KeptRecord,
      errors: [
        ...RECORD_WRITE_ERRORS,
        ...(['kind_unknown', 'kind_readonly', 'record_unknown', 'transition_forbidden'] as const),
      ],
      allow: RECORD_WRITERS,
      examples: [
        { kind: 'friction', id: '01JZ0000000000000000000000', fields: { resolution: 'Cached the index.' } },
      ],
      handle: (input, call) => call.modules.records.close(call, input),
    }),
  },
})
