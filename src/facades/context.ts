/** What is worth knowing of a project: for a task, since a time, or to begin with. */
import * as z from 'zod'
import { query } from './record-actions.ts'
import { MEMORY_READ_ERRORS } from './memory-errors.ts'
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
} from '../contracts/context.ts'
import { Imported, ImportInput } from '../contracts/import.ts'
import { HubEvent } from '../contracts/events.ts'
import { Timestamp, Ulid } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'

const PIN_ERRORS = [...MEMORY_READ_ERRORS, 'portfolio_readonly', 'record_too_large', 'limit_reached'] as const

/** What agents note here, and what becomes of what they remember. */
const OF_AGENTS: readonly string[] = ['context.', 'memory.']

export const context = defineFacade({
  name: 'context',
  summary: 'What is worth knowing of this project: for a task, since a time, or to begin with.',
  overview:
    'What is worth knowing of this project. assemble {task, scope?: path, max_tokens?}: decisions, needs, warnings, findings for a ' +
    'task. what_changed {since}. summarize. refresh: a brief to begin with. pin {text, key?}, unpin, list: what every agent should ' +
    'know. event_append {message}, event_search {query}. artifact_list, artifact_read {id}.',
  compact: 'What to know here.',
  agent_hint:
    'Before you begin, ask `context assemble` {task, scope: the path you will work in}: decisions, open needs, warnings.',
  facet: 'core',
  listed: true,
  micro: ['assemble', 'summarize', 'what_changed', 'pin', 'list'],
  kinds: [PIN_KIND, ARTIFACT_KIND],
  actions: {
    assemble: defineAction({
      summary: 'What is worth knowing for a task, best first, within a budget: {task, scope?, max_tokens?}.',
      mutates: false,
      aliases: ['twining_assemble'],
      input: AssembleInput,
      output: Assembled,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{ task: 'Make the login tests faster', scope: 'src/auth/', max_tokens: 2_000 }],
      handle: (input, call) => call.memory.assemble(call, input),
    }),

    summarize: defineAction({
      summary: 'How many decisions hold and what is open, in numbers and a sentence: {scope?}.',
      mutates: false,
      aliases: ['twining_summarize'],
      input: SummarizeInput,
      output: MemorySummaryAnswer,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{}],
      handle: ({ scope }, call) => call.memory.summarize(call, scope),
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
      handle: (input, call) => call.memory.whatChanged(call, input),
    }),

    pin: defineAction({
      summary: 'Pin what every agent here is to know from the start: {text, key?: replaces what it named}.',
      mutates: true,
      idempotent: true,
      input: PinInput,
      output: Pin,
      errors: PIN_ERRORS,
      allow: ['agent'],
      examples: [{ key: 'release', text: 'Releases go out on Tuesdays.' }],
      handle: (input, call) => call.memory.pin(call, input),
    }),

    unpin: defineAction({
      summary: 'Take a pin away: {key} or {id}.',
      mutates: true,
      input: UnpinInput,
      output: Pin,
      errors: [...PIN_ERRORS, 'record_unknown', 'params_invalid', 'transition_forbidden'],
      allow: ['agent'],
      examples: [{ key: 'release' }],
      handle: (input, call) => call.memory.unpin(call, input),
    }),

    list: defineAction({
      summary: 'What is pinned.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({ pins: z.array(Pin) }),
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{}],
      handle: async (_, call) => ({ pins: await call.memory.pins(call) }),
    }),

    refresh: defineAction({
      summary: 'A brief in Markdown for who begins, or has lost what it knew: {scope?, max_tokens?}.',
      mutates: false,
      input: RefreshInput,
      output: Brief,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{}, { scope: 'src/auth/', max_tokens: 1_000 }],
      handle: (input, call) => call.memory.refresh(call, input),
    }),

    primer: defineAction({
      summary:
        'Who you are, who else is there, what waits and what matters here, as the text of a session start: {agent_id?}.',
      mutates: false,
      input: PrimerInput,
      output: Primer,
      errors: [...MEMORY_READ_ERRORS, 'identity_mismatch', 'target_unknown', 'params_invalid'],
      allow: ['agent'],
      examples: [{}, { agent_id: 'ada' }],
      handle: ({ agent_id }, call) => call.memory.primer(call, call, agent_id),
    }),

    event_append: defineAction({
      summary: 'Note that something happened, in the event stream: {message, tags?, data?}.',
      mutates: true,
      input: AppendEventInput,
      output: z.object({ seq: z.number().int(), timestamp: Timestamp }),
      errors: ['params_invalid'],
      allow: ['agent'],
      examples: [{ message: 'staging was deployed', tags: ['deploy'] }],
      handle: (input, call) => call.memory.appendEvent(call, input),
    }),

    event_search: defineAction({
      summary: 'Events that say something, newest first: {query?, types?, limit?}.',
      mutates: false,
      input: SearchEventsInput,
      output: z.object({ events: z.array(HubEvent) }),
      errors: [],
      allow: READERS,
      examples: [{ query: 'deploy' }, { types: ['memory.'], limit: 20 }],
      handle: ({ query: text, types = OF_AGENTS, limit }, call) => ({
        events: call.kernel.events({ types, text, limit }),
      }),
    }),

    import: defineAction({
      summary:
        'Take over what another tool remembered, under its ids; what is here stays: {entries?, decisions?, entities?, relations?}.',
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
      handle: (input, call) => call.imports.import(call, input),
    }),

    artifact_list: query(
      ARTIFACT_KIND,
      'What was made along the way: {name?, tags?, run_id?, text?, limit?}.',
      {
        examples: [{ tags: 'performance' }],
      },
    ),

    artifact_read: defineAction({
      summary: 'One of them, or the beginning of its file: {id, max_bytes?}.',
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
      handle: (input, call) => call.memory.readArtifact(call, input),
    }),
  },
})
