/** Knowledge of a project: for a task, since a time, or at the start of a session. */
import * as z from 'zod'
import { query } from './lib/record-actions.ts'
import { MEMORY_READ_ERRORS } from './lib/record-fields.ts'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import {
  AppendEventInput,
  ARTIFACT_KIND,
  Assembled,
  AssembleInput,
  Brief,
  MemorySummaryAnswer,
  Pin,
  PIN_KIND,
  PinInput,
  Primer,
  PrimerInput,
  ReadArtifactInput,
  RefreshInput,
  SearchEventsInput,
  SummarizeInput,
  UnpinInput,
  WhatChanged,
  WhatChangedInput,
} from '../contracts/memory/context.ts'
import { Imported, ImportInput } from '../contracts/memory/import.ts'
import { HubEvent } from '../contracts/events.ts'
import { Timestamp, Ulid } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'

const PIN_ERRORS = [...MEMORY_READ_ERRORS, 'portfolio_readonly', 'record_too_large', 'limit_reached'] as const

/** Types of events that `context` searches by default. */
const AGENT_EVENTS: readonly string[] = ['context.', 'memory.']

export const context = defineFacade({
  name: 'context',
  summary: 'Knowledge of this project: for a task, since a time, or at the start of a session.',
  overview:
    'Knowledge of this project. assemble {task, scope?: path, max_tokens?}: decisions, needs, warnings, findings for a ' +
    'task. what_changed {since}. summarize. refresh: a brief for a start. pin {text, key?}, unpin, list: texts every agent ' +
    'gets. event_append {message}, event_search {query}. artifact_list, artifact_read {id}.',
  compact: 'Project knowledge.',
  agent_hint:
    'Before you begin, ask `context assemble` {task, scope: the path you will work in}: decisions, open needs, warnings.',
  facet: 'core',
  listed: true,
  micro: ['assemble', 'summarize', 'what_changed', 'pin', 'list'],
  kinds: [PIN_KIND, ARTIFACT_KIND],
  actions: {
    assemble: defineAction({
      summary:
        'Decisions, entries and warnings for a task, best first, within a budget: {task, scope?, max_tokens?}.',
      mutates: false,
      aliases: ['twining_assemble'],
      input: AssembleInput,
      output: Assembled,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{ task: 'Make the login tests faster', scope: 'src/auth/', max_tokens: 2_000 }],
      handle: (input, call) => call.modules.context.assemble(call, input),
    }),

    summarize: defineAction({
      summary: 'Counts of active decisions and open entries, and one sentence: {scope?}.',
      mutates: false,
      aliases: ['twining_summarize'],
      input: SummarizeInput,
      output: MemorySummaryAnswer,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{}],
      handle: ({ scope }, call) => call.modules.context.summarize(call, scope),
    }),

    what_changed: defineAction({
      summary: 'Decisions and entries since a time: {since, scope?}.',
      mutates: false,
      aliases: ['twining_what_changed'],
      input: WhatChangedInput,
      output: WhatChanged,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{ since: '2026-01-31T12:00:00Z' }],
      handle: (input, call) => call.modules.context.whatChanged(call, input),
    }),

    pin: defineAction({
      summary: 'Pin a text that every agent gets at its start: {text, key?: replaces the pin of that key}.',
      mutates: true,
      idempotent: true,
      input: PinInput,
      output: Pin,
      errors: PIN_ERRORS,
      allow: ['agent'],
      examples: [{ key: 'release', text: 'Releases go out on Tuesdays.' }],
      handle: (input, call) => call.modules.context.pin(call, input),
    }),

    unpin: defineAction({
      summary: 'Remove a pin: {key} or {id}.',
      mutates: true,
      input: UnpinInput,
      output: Pin,
      errors: [...PIN_ERRORS, 'record_unknown', 'params_invalid', 'transition_forbidden'],
      allow: ['agent'],
      examples: [{ key: 'release' }],
      handle: (input, call) => call.modules.context.unpin(call, input),
    }),

    list: defineAction({
      summary: 'All pinned texts.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({ pins: z.array(Pin) }),
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{}],
      handle: async (_, call) => ({ pins: await call.modules.context.pins(call) }),
    }),

    refresh: defineAction({
      summary: 'A Markdown brief for the start of a session or after a compaction: {scope?, max_tokens?}.',
      mutates: false,
      input: RefreshInput,
      output: Brief,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{}, { scope: 'src/auth/', max_tokens: 1_000 }],
      handle: (input, call) => call.modules.context.refresh(call, input),
    }),

    primer: defineAction({
      summary:
        'The text of a session start: your persona, your team, waiting signals, project knowledge: {agent_id?}.',
      mutates: false,
      input: PrimerInput,
      output: Primer,
      errors: [...MEMORY_READ_ERRORS, 'identity_mismatch', 'target_unknown', 'params_invalid'],
      allow: ['agent'],
      examples: [{}, { agent_id: 'ada' }],
      handle: ({ agent_id }, call) => call.modules.context.primer(call, call.modules, agent_id),
    }),

    event_append: defineAction({
      summary: 'Append an event to the event stream: {message, tags?, data?}.',
      mutates: true,
      input: AppendEventInput,
      output: z.object({ seq: z.number().int(), timestamp: Timestamp }),
      errors: ['params_invalid'],
      allow: ['agent'],
      examples: [{ message: 'staging was deployed', tags: ['deploy'] }],
      handle: (input, call) => call.modules.context.appendEvent(call, input),
    }),

    event_search: defineAction({
      summary: 'Search the event stream, newest first: {query?, types?, limit?}.',
      mutates: false,
      input: SearchEventsInput,
      output: z.object({ events: z.array(HubEvent) }),
      errors: [],
      allow: READERS,
      examples: [{ query: 'deploy' }, { types: ['memory.'], limit: 20 }],
      handle: ({ query: text, types = AGENT_EVENTS, limit }, call) => ({
        events: call.kernel.events({ types, text, limit }),
      }),
    }),

    import: defineAction({
      summary:
        'Import the memory of another tool under its ids; existing records stay: {entries?, decisions?, entities?, relations?}.',
      mutates: true,
      idempotent: true,
      input: ImportInput,
      output: Imported,
      errors: [...MEMORY_READ_ERRORS, 'operator_required'],
      allow: [],
      examples: [
        {
          entries: [
            {
              ...{ id: '01JZ0000000000000000000000', timestamp: '2026-01-31T12:00:00.000Z' },
              ...{ agent_id: 'ann', entry_type: 'finding', summary: 'Tokens are parsed twice' },
            },
          ],
        },
      ],
      handle: (input, call) => call.modules.memoryImport.import(call, input),
    }),

    artifact_list: query(ARTIFACT_KIND, 'Artifacts, newest first: {name?, tags?, run_id?, text?, limit?}.', {
      examples: [{ tags: 'performance' }],
    }),

    artifact_read: defineAction({
      summary: 'One artifact, or the beginning of its file: {id, max_bytes?}.',
      mutates: false,
      input: ReadArtifactInput,
      output: z.object({
        id: Ulid,
        name: z.string(),
        path: z.string().nullable(),
        text: z.string(),
        truncated: z.boolean(),
      }),
      errors: [...MEMORY_READ_ERRORS, 'record_unknown', 'file_unreadable'],
      allow: READERS,
      examples: [{ id: '01JZ0000000000000000000000', max_bytes: LIMITS.artifact_bytes_default }],
      handle: (input, call) => call.modules.context.readArtifact(call, input),
    }),
  },
})
