/** What there is to do: issues, the epics they belong to, and how to see that they are done. */
import * as z from 'zod'
import { close, create, query, read } from './record-actions.ts'
import { Links, Reference, Tags, Text, Title } from './record-fields.ts'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { MarkersAnswer, MARKERS, MarkerWord, RepositoryPath } from '../contracts/git.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { RecordKind } from '../contracts/records.ts'

const Issue: RecordKind = {
  name: 'issue',
  summary: 'Something to be done or mended.',
  keeper: 'project',
  fields: z.strictObject({
    title: Title,
    body: Text.optional(),
    priority: z.enum(['low', 'medium', 'high', 'critical']).default('medium'),
    epic_id: Reference.optional(),
    tags: Tags,
    commits: Links,
  }),
  status: {
    initial: 'open',
    moves: { open: ['closed'] },
    closing: { to: 'closed', fields: { resolution: Text.optional() } },
  },
  examples: [{ title: 'Login fails behind a proxy', body: 'Cookies are dropped.', priority: 'high' }],
}

const Epic: RecordKind = {
  name: 'epic',
  summary: 'A larger piece of work that issues belong to.',
  keeper: 'project',
  fields: z.strictObject({
    title: Title,
    body: Text.optional(),
    objective_id: Reference.optional(),
    tags: Tags,
  }),
  status: {
    initial: 'open',
    moves: { open: ['resolved'] },
    closing: { to: 'resolved', fields: { resolution: Text.optional() } },
  },
  examples: [{ title: 'Single sign-on' }],
}

const TestSpec: RecordKind = {
  name: 'test_spec',
  summary: 'How to see that an issue is done.',
  keeper: 'project',
  fields: z.strictObject({
    title: Title,
    issue_id: Reference.optional(),
    steps: z.array(Text).min(1).max(100),
    expected: Text,
  }),
  status: { initial: 'draft', moves: { draft: ['compiled'] } },
  examples: [
    {
      title: 'Login behind a proxy',
      steps: ['Start the proxy', 'Log in'],
      expected: 'The start page opens.',
    },
  ],
}

export const sentinel = defineFacade({
  name: 'sentinel',
  summary: 'Issues, epics and test specs: what there is to do, and when it is done.',
  overview:
    'What there is to do. create_issue {title, body?, priority?, epic_id?}, log_epic {title, body?}, create_test_spec ' +
    '{title, steps, expected, issue_id?}. close_issue, resolve_epic {id, resolution?}. Read by {id}; list by ' +
    '{status?, text?, limit?}. scan {path?, markers?}: TODO and its like in tracked files.',
  compact: 'Issues, epics, test specs.',
  facet: 'work',
  micro: ['create_issue', 'list_issues', 'log_epic', 'list_epics'],
  kinds: [Issue, Epic, TestSpec],
  actions: {
    create_issue: create(Issue, 'Note something to be done: {title, body?, priority?, epic_id?, tags?}.', {
      omit: ['commits'],
    }),
    list_issues: query(Issue, 'Issues: {status?, priority?, epic_id?, text?, limit?}.', {
      aliases: ['sentinel_list_repo_issues'],
      examples: [{ status: 'open', priority: ['high', 'critical'] }],
    }),
    read_issue: read(Issue, 'One issue: {id}.'),
    close_issue: close(Issue, 'Say that an issue is done: {id, resolution?}.', {
      example: { resolution: 'The proxy passes cookies on.' },
    }),
    log_epic: create(Epic, 'Note a larger piece of work: {title, body?, objective_id?}.'),
    list_epics: query(Epic, 'Epics: {status?, text?, limit?}.'),
    read_epic: read(Epic, 'One epic: {id}.'),
    resolve_epic: close(Epic, 'Say that an epic is done: {id, resolution?}.'),
    list_epic_issues: query(Issue, 'The issues of an epic: {epic_id, status?, limit?}.', {
      by: 'epic_id',
      examples: [{ epic_id: '01JZ0000000000000000000000', status: 'open' }],
    }),
    create_test_spec: create(
      TestSpec,
      'Say how to see that it is done: {title, steps, expected, issue_id?}.',
    ),
    list_test_specs: query(TestSpec, 'Test specs: {issue_id?, status?, text?, limit?}.'),
    scan: defineAction({
      summary: 'Lines of tracked files with TODO, FIXME, HACK or XXX: {path?, markers?, limit?}.',
      mutates: false,
      aliases: ['sentinel_scanData', 'sentinel_scan_codebase'],
      input: z.strictObject({
        /** A file or directory of the project; all of it where nothing is said. */
        path: RepositoryPath.optional(),
        /** Whole words, in this case. */
        markers: z.array(MarkerWord).min(1).max(LIMITS.git_marker_words_max).default(MARKERS),
        limit: z.number().int().min(1).max(LIMITS.git_markers_max).default(LIMITS.git_markers_default),
      }),
      output: MarkersAnswer,
      errors: ['repository_unknown', 'git_unavailable', 'git_failed', 'timed_out', 'limit_reached'],
      allow: READERS,
      examples: [{ path: 'src', markers: ['FIXME'], limit: 20 }],
      handle: (input, call) => call.git.findMarkers(call, input),
    }),
  },
})
