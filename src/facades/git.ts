/** The project's git repository: history, status, and links between commits and issues. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import type { ErrorCode } from '../contracts/errors/errors.ts'
import {
  AuthorWord,
  BlameAnswer,
  ChangesAnswer,
  COMMIT_LINK,
  CommitLink,
  IssueRef,
  LinkedIssuesAnswer,
  LogAnswer,
  RemovalAnswer,
  RepositoryPath,
  Revision,
  RevisionRange,
  SearchedText,
  Since,
  StatusAnswer,
  TagPattern,
  TagsAnswer,
} from '../contracts/git.ts'
import { LIMITS } from '../contracts/limits/limits.ts'

const upTo = (limit_max: number, limit_default: number) =>
  z.number().int().min(1).max(limit_max).default(limit_default)
const ScanLimit = upTo(LIMITS.git_scan_limit_max, LIMITS.git_scan_limit_default)

const ALWAYS: readonly ErrorCode[] = [
  'repository_unknown',
  'git_unavailable',
  'git_failed',
  'timed_out',
  'limit_reached',
]
export const git = defineFacade({
  name: 'git',
  summary: 'History and state of the git repository of your project.',
  overview:
    'The git repository of your project. find_removal: commits that removed {text}. blame_context {path, line}. ' +
    'changed_files {from?, to?, staged?}. link_commit {sha, issue}. Others take {limit?, since?, path?, range?}.',
  compact: 'Git history and state.',
  facet: 'core',
  listed: true,
  micro: ['log_recent', 'changed_files'],
  kinds: [COMMIT_LINK],
  actions: {
    log_recent: defineAction({
      summary: 'The newest commits: {limit?, since? 2026-01-31 or "2 weeks ago", author?, path?}.',
      mutates: false,
      input: z.strictObject({
        limit: upTo(LIMITS.git_log_limit_max, LIMITS.git_log_limit_default),
        since: Since.optional(),
        /** Part of a name or address, ignoring case. */
        author: AuthorWord.optional(),
        path: RepositoryPath.optional(),
      }),
      output: LogAnswer,
      errors: ALWAYS,
      allow: READERS,
      examples: [{ limit: 10, since: '2 weeks ago', path: 'src' }],
      handle: (input, call) => call.modules.git.logRecent(call, input),
    }),

    changed_files: defineAction({
      summary: 'Files that differ: on disk from HEAD, or {from?, to?: a commit, staged?, path?}.',
      mutates: false,
      input: z.strictObject({
        /** Default: HEAD, or the first parent of `to`. */
        from: Revision.optional(),
        /** A commit. Default: the work tree. */
        to: Revision.optional(),
        staged: z.boolean().optional(),
        path: RepositoryPath.optional(),
      }),
      output: ChangesAnswer,
      errors: ['revision_unknown', ...ALWAYS],
      allow: READERS,
      examples: [{}, { staged: true }, { from: 'v1.0.0', to: 'HEAD' }],
      handle: (input, call) => call.modules.git.changedFiles(call, input),
    }),

    find_removal: defineAction({
      summary: 'Which commits removed a text, with file and lines: {text, path?, limit?}.',
      mutates: false,
      input: z.strictObject({
        text: SearchedText,
        path: RepositoryPath.optional(),
        limit: upTo(LIMITS.git_removals_max, LIMITS.git_removals_default),
      }),
      output: RemovalAnswer,
      errors: ALWAYS,
      allow: READERS,
      examples: [{ text: 'retry_after_ms' }],
      handle: (input, call) => call.modules.git.findRemoval(call, input),
    }),

    blame_context: defineAction({
      summary: 'The commits that last changed a line and its neighbours: {path, line, context?}.',
      mutates: false,
      input: z.strictObject({
        path: RepositoryPath,
        line: z
          .number()
          .int()
          .min(1)
          .max(2 ** 31 - 1),
        /** Number of lines above and below. */
        context: z
          .number()
          .int()
          .min(0)
          .max(LIMITS.git_blame_context_max)
          .default(LIMITS.git_blame_context_default),
      }),
      output: BlameAnswer,
      errors: ALWAYS,
      allow: READERS,
      examples: [{ path: 'src/main.ts', line: 42 }],
      handle: (input, call) => call.modules.git.blameContext(call, input),
    }),

    tags: defineAction({
      summary: 'Tags, newest first: {pattern?: a glob, limit?}.',
      mutates: false,
      input: z.strictObject({
        pattern: TagPattern.optional(),
        limit: upTo(LIMITS.git_tags_limit_max, LIMITS.git_tags_limit_default),
      }),
      output: TagsAnswer,
      errors: ALWAYS,
      allow: READERS,
      examples: [{ pattern: 'v1.*' }],
      handle: (input, call) => call.modules.git.tags(call, input),
    }),

    status: defineAction({
      summary: 'Branch, upstream, and what is staged, changed, untracked or in conflict.',
      mutates: false,
      input: z.strictObject({}),
      output: StatusAnswer,
      errors: ALWAYS,
      allow: READERS,
      handle: (input, call) => call.modules.git.status(call, input),
    }),

    find_linked_issues: defineAction({
      summary: 'Issues named in commit messages: {sha? or range? A..B, limit?}; #12, ISSUE-7, ULIDs.',
      mutates: false,
      input: z.strictObject({
        sha: Revision.optional(),
        range: RevisionRange.optional(),
        limit: ScanLimit,
      }),
      output: LinkedIssuesAnswer,
      errors: ['revision_unknown', ...ALWAYS],
      allow: READERS,
      examples: [{ range: 'v1.0.0..HEAD' }],
      handle: (input, call) => call.modules.git.findLinkedIssues(call, input),
    }),

    auto_link: defineAction({
      summary: 'Store links to the issues named in recent commits: {since?, range? A..B, limit?}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({
        since: Since.optional(),
        range: RevisionRange.optional(),
        limit: ScanLimit,
      }),
      output: z.object({
        linked: z.array(CommitLink),
        already: z.number().int(),
        scanned: z.number().int(),
        truncated: z.boolean(),
      }),
      errors: ['revision_unknown', 'project_unknown', 'store_unavailable', ...ALWAYS],
      allow: ['agent'],
      examples: [{ since: '1 day ago' }],
      handle: (input, call) => call.modules.git.autoLink(call, input),
    }),

    link_commit: defineAction({
      summary: 'Link a commit to an issue: {sha, issue, note?}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({
        sha: Revision,
        issue: IssueRef,
        note: z.string().min(1).max(LIMITS.commit_note_length_max).optional(),
      }),
      output: z.object({ link: CommitLink, added: z.boolean() }),
      errors: ['revision_unknown', 'project_unknown', 'record_unknown', 'store_unavailable', ...ALWAYS],
      allow: ['agent'],
      examples: [{ sha: 'HEAD', issue: '#12', note: 'the first half' }],
      handle: (input, call) => call.modules.git.linkCommit(call, input),
    }),

    list_linked_commits: defineAction({
      summary: 'Stored links between commits and issues, newest first: {issue?, sha?, limit?}.',
      mutates: false,
      input: z.strictObject({
        issue: IssueRef.optional(),
        sha: Revision.optional(),
        limit: upTo(LIMITS.commit_links_max, LIMITS.commit_links_default),
      }),
      output: z.object({ links: z.array(CommitLink), truncated: z.boolean() }),
      errors: ['revision_unknown', 'project_unknown', 'store_unavailable', ...ALWAYS],
      allow: READERS,
      examples: [{ issue: '#12' }],
      handle: (input, call) => call.modules.git.listLinkedCommits(call, input),
    }),
  },
})
