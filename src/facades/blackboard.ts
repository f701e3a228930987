/** The blackboard: notes that all agents of a project share. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import {
  Archived,
  ArchiveInput,
  Exported,
  ExportInput,
  MemoryStatus,
  Posted,
  PostInput,
  QueryAnswer,
  QueryInput,
  ReadAnswer,
  ReadInput,
  RecentInput,
} from '../contracts/memory/blackboard.ts'
import { Entry, ENTRY_KIND } from '../contracts/memory/entry.ts'
import { MEMORY_READ_ERRORS } from './lib/record-fields.ts'

export const blackboard = defineFacade({
  name: 'blackboard',
  summary: 'Notes that all agents of this project share, and questions without an answer.',
  overview:
    'Shared notes of this project. post {entry_type: need, offer, finding, constraint, question, answer, status, artifact, ' +
    'warning; summary, detail?, scope?: path, tags?, relates_to?: ids it answers}. read {scope?, entry_types?, tags?, since?, ' +
    'open?}. query {query}. recent {n?}. archive {before?}. status, export.',
  compact: 'Shared notes.',
  agent_hint:
    'What others should know, post: `blackboard post` {entry_type: finding or warning, summary, scope}. ' +
    'Answer a need or question with {entry_type: answer, relates_to: [its id]}.',
  facet: 'core',
  listed: true,
  kinds: [ENTRY_KIND],
  actions: {
    post: defineAction({
      summary:
        'Post to all agents: {entry_type, summary, detail?, tags?, scope?, relates_to?: [ids]; decisions: rationale, context}.',
      mutates: true,
      aliases: ['twining_post'],
      input: PostInput,
      output: Posted,
      errors: [...MEMORY_READ_ERRORS, 'params_invalid', 'record_unknown', 'record_too_large'],
      allow: ['agent'],
      examples: [
        {
          entry_type: 'warning',
          summary: 'Tests of src/auth need a free port 5432',
          scope: 'src/auth/',
        },
        { entry_type: 'need', summary: 'Somebody has to review the new schema', tags: ['review'] },
      ],
      handle: (input, call) => call.modules.blackboard.post(call, input),
    }),

    read: defineAction({
      summary:
        'Entries, oldest first: {entry_types?, tags?: any of them, scope?: a path, since?, open?, limit?}.',
      mutates: false,
      aliases: ['twining_read'],
      input: ReadInput,
      output: ReadAnswer,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{ open: true }, { scope: 'src/auth/', entry_types: ['warning', 'finding'] }],
      handle: (input, call) => call.modules.blackboard.read(call, input),
    }),

    query: defineAction({
      summary: 'Entries that match a text, best first: {query, entry_types?, scope?, limit?}.',
      mutates: false,
      aliases: ['twining_query'],
      input: QueryInput,
      output: QueryAnswer,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{ query: 'why do the login tests fail' }],
      handle: (input, call) => call.modules.blackboard.query(call, input),
    }),

    recent: defineAction({
      summary: 'The newest entries, in order of time: {n?, entry_types?}.',
      mutates: false,
      aliases: ['twining_recent'],
      input: RecentInput,
      output: z.object({ entries: z.array(Entry) }),
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{ n: 10 }],
      handle: (input, call) => call.modules.blackboard.recent(call, input),
    }),

    archive: defineAction({
      summary: 'Archive entries, except decisions: {before?, keep_open?, summarize?: post a summary}.',
      mutates: true,
      aliases: ['twining_archive'],
      input: ArchiveInput,
      output: Archived,
      errors: MEMORY_READ_ERRORS,
      allow: ['agent'],
      examples: [{ before: '2026-01-31', keep_open: true }],
      handle: (input, call) => call.modules.blackboard.archive(call, input),
    }),

    status: defineAction({
      summary: 'Number of entries, and whether archiving is due.',
      mutates: false,
      aliases: ['twining_status'],
      input: z.strictObject({}),
      output: MemoryStatus,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{}],
      handle: (_, call) => call.modules.blackboard.status(call),
    }),

    export: defineAction({
      summary: 'Everything as one Markdown document: {scope?}.',
      mutates: false,
      aliases: ['twining_export'],
      input: ExportInput,
      output: Exported,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{}, { scope: 'src/auth/' }],
      handle: (input, call) => call.modules.blackboard.export(call, input),
    }),
  },
})
