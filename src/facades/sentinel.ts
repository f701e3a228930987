/** Issues, epics and test specs. */
import * as z from 'zod'
import { close, create, query, read } from './lib/record-actions.ts'
import { Links, Reference, Tags, Text, Title } from './lib/record-fields.ts'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { MarkersAnswer, MARKERS, MarkerWord, RepositoryPath } from '../contracts/git.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { RecordKind } from '../contracts/memory/records.ts'

const Issue: RecordKind = {
  name: 'issue',
  summary: 'A task or a defect.',
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
  summary: 'How to verify that an issue is done.',
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
  summary: 'Issues, epics and test specs.',
  overview:
    'Work to do. create_issue {title, body?, priority?, epic_id?}, log_epic {title, body?}, create_test_spec ' +
    '{title, steps, expected, issue_id?}. close_issue, resolve_epic {id, resolution?}. Read by {id}; list by ' +
    '{status?, text?, limit?}. scan {path?, markers?}: TODO and similar markers in tracked files.',
  compact: 'Issues, epics, test specs.',
  facet: 'work',
  micro: ['create_issue', 'list_issues', 'log_epic', 'list_epics'],
  kinds: [Issue, Epic, TestSpec],
  actions: {
    create_issue: create(Issue, 'Create an issue: {title, body?, priority?, epic_id?, tags?}.', {
      omit: ['commits'],
    }),
    list_issues: query(Issue, 'Issues: {status?, priority?, epic_id?, text?, limit?}.', {
      aliases: ['sentinel_list_repo_issues'],
      examples: [{ status: 'open', priority: ['high', 'critical'] }],
    }),
    read_issue: read(Issue, 'One issue: {id}.'),
    close_issue: close(Issue, 'Close an issue: {id, resolution?}.', {
      example: { resolution: 'The proxy passes cookies on.' },
    }),
    log_epic: create(Epic, 'Create an epic: {title, body?, objective_id?}.'),
    list_epics: query(Epic, 'Epics: {status?, text?, limit?}.'),
    read_epic: read(Epic, 'One epic: {id}.'),
    resolve_epic: close(Epic, 'Close an epic: {id, resolution?}.'),
    list_epic_issues: query(Issue, 'The issues of an epic: {epic_id, status?, limit?}.', {
      by: 'epic_id',
      examples: [{ epic_id: '01JZ0000000000000000000000', status: 'open' }],
    }),
    create_test_spec: create(
      TestSpec,
      'Describe how to verify an issue: {title, steps, expected, issue_id?}.',
    ),
    list_test_specs: query(TestSpec, 'Test specs: {issue_id?, status?, text?, limit?}.'),
    scan: defineAction({
      summary: 'Lines of tracked files with TODO, FIXME, HACK or XXX: {path?, markers?, limit?}.',
      mutates: false,
      aliases: ['sentinel_scanData', 'sentinel_scan_codebase'],
      input: z.strictObject({
        /** A file or directory of the project. Default: the whole project. */
        path: RepositoryPath.optional(),
        /** Whole words, case-sensitive. */
        markers: z.array(MarkerWord).min(1).max(LIMITS.git_marker_words_max).default(MARKERS),
        limit: z.number().int().min(1).max(LIMITS.git_markers_max).default(LIMITS.git_markers_default),
      }),
      output: MarkersAnswer,
      errors: ['repository_unknown', 'git_unavailable', 'git_failed', 'timed_out', 'limit_reached'],
      allow: READERS,
      examples: [{ path: 'src', markers: ['FIXME'], limit: 20 }],
      handle: (input, call) => call.modules.git.findMarkers(call, input),
    }),
  },
})
