/**
 * Inputs and outputs of the facade `git`. Paths are relative to the root of the work tree, with slashes. Invalid UTF-8
 * is shown as U+FFFD, and such a path cannot be passed.
 */
import * as z from 'zod'
import { Timestamp } from './ids.ts'
import { LIMITS } from './limits/limits.ts'
import type { RecordKind } from './memory/records.ts'

/** Control characters, which are not allowed in names, revisions and search texts. */
const CONTROL = /[\u0000-\u001f\u007f]/

const plain = (length_max: number) =>
  z
    .string()
    .min(1)
    .max(length_max)
    .refine((text) => !CONTROL.test(text), 'control characters are not allowed')

/** Relative to the root of the work tree, or absolute and inside it. */
export const RepositoryPath = z
  .string()
  .min(1)
  .max(LIMITS.git_path_length_max)
  .refine((path) => !path.includes('\0'), 'a path has no NUL')

/**
 * Commit, branch, tag, or an expression such as `HEAD~2`. Stricter than git, so that it cannot be an option, a range or
 * a path in a tree.
 */
export const Revision = plain(LIMITS.git_revision_length_max)
  .refine((revision) => !/^[-^]/.test(revision), 'a revision does not begin with - or ^')
  .refine(
    (revision) => !/[\s:?*[\\]|\.\./.test(revision),
    'one commit is meant: no spaces, ranges or : ? * [ \\',
  )

/** `A..B`: commits of B that A does not have. An omitted side is HEAD. */
export const RevisionRange = plain(2 * LIMITS.git_revision_length_max + 2)
  .regex(/^[^\s]*\.\.[^\s]*$/, 'a range is A..B')
  .refine((range) => !range.includes('...'), 'a range has two dots')

/** Date, UTC time or age; values that git would interpret loosely are rejected. */
export const Since = z
  .string()
  .regex(
    /^(\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?Z)?|\d{1,5} (minute|hour|day|week|month|year)s?( ago)?)$/,
    'expected 2026-01-31, 2026-01-31T12:00:00Z or "2 weeks ago"',
  )

export const AuthorWord = plain(LIMITS.git_text_length_max)
export const TagPattern = plain(LIMITS.git_revision_length_max)
export const SearchedText = z
  .string()
  .min(1)
  .max(LIMITS.git_searched_text_length_max)
  .refine((text) => !text.includes('\0'), 'a text has no NUL')

/** Reference to an issue in commit messages: `#12`, `ISSUE-7`, a ULID. */
export const IssueRef = z
  .string()
  .min(1)
  .max(LIMITS.issue_length_max)
  .regex(/^[\p{L}\p{N}#][\p{L}\p{N}#/._-]*$/u, 'an issue is one word, such as #12, ISSUE-7 or a ULID')

const Sha = z.string()
const Cut = z.literal(true).optional()

const CommitName = z.object({ sha: Sha, short_sha: Sha, subject: z.string(), subject_cut: Cut })

export const CommitSummary = CommitName.extend({
  author_name: z.string(),
  author_email: z.string(),
  committed_at: Timestamp,
  /** Compared with the first parent. */
  files_changed: z.number().int().optional(),
})
export type CommitSummary = z.infer<typeof CommitSummary>
export const LogAnswer = z.object({ commits: z.array(CommitSummary), truncated: z.boolean() })
export type LogAnswer = z.infer<typeof LogAnswer>

export const ChangeStatus = z.enum([
  'added',
  'modified',
  'deleted',
  'renamed',
  'copied',
  'untracked',
  'conflicted',
])
export type ChangeStatus = z.infer<typeof ChangeStatus>
export const ChangedFile = z.object({
  path: z.string(),
  status: ChangeStatus,
  old_path: z.string().optional(),
  /** Number of lines; absent for binary and untracked files. */
  insertions: z.number().int().optional(),
  deletions: z.number().int().optional(),
})
export type ChangedFile = z.infer<typeof ChangedFile>
export const ChangesAnswer = z.object({ files: z.array(ChangedFile), truncated: z.boolean() })
export type ChangesAnswer = z.infer<typeof ChangesAnswer>

const Count = z.number().int()
export const StatusAnswer = z.object({
  root: z.string(),
  /** Null before the first commit. */
  head: Sha.nullable(),
  /** Null for a detached HEAD. */
  branch: z.string().nullable(),
  upstream: z.string().nullable(),
  /** Null without an upstream, or if the upstream is gone. */
  ahead: Count.nullable(),
  behind: Count.nullable(),
  clean: z.boolean(),
  counts: z.object({ staged: Count, unstaged: Count, untracked: Count, conflicted: Count }),
  staged: z.array(ChangedFile),
  unstaged: z.array(ChangedFile),
  /** An untracked directory is listed once, with a trailing slash. */
  untracked: z.array(z.string()),
  conflicted: z.array(z.string()),
  /** The lists are truncated; the counts are complete. */
  truncated: z.boolean(),
})
export type StatusAnswer = z.infer<typeof StatusAnswer>

export const BlamedLine = z.object({
  line: Count,
  text: z.string(),
  text_cut: Cut,
  /** All four are null for an uncommitted line. */
  sha: Sha.nullable(),
  author_name: z.string().nullable(),
  committed_at: Timestamp.nullable(),
  subject: z.string().nullable(),
})
export type BlamedLine = z.infer<typeof BlamedLine>
export const BlameAnswer = z.object({ path: z.string(), lines: z.array(BlamedLine), truncated: z.boolean() })
export type BlameAnswer = z.infer<typeof BlameAnswer>

export const RemovedLine = z.object({
  /** Line number in the file before the commit. */
  line: Count,
  text: z.string(),
  text_cut: Cut,
})
export type RemovedLine = z.infer<typeof RemovedLine>
export const Removal = CommitSummary.omit({ files_changed: true }).extend({
  files: z.array(
    z.object({
      path: z.string(),
      /** Decrease of the number of occurrences. */
      removed: Count,
      lines: z.array(RemovedLine),
    }),
  ),
})
export type Removal = z.infer<typeof Removal>
export const RemovalAnswer = z.object({
  removals: z.array(Removal),
  /** There may be older removals, or more files of the listed ones. */
  truncated: z.boolean(),
})
export type RemovalAnswer = z.infer<typeof RemovalAnswer>

/** Marker of unfinished work. */
export const MarkerWord = z
  .string()
  .max(32)
  .regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'a marker is one word, such as TODO')
export const MARKERS = ['TODO', 'FIXME', 'HACK', 'XXX']

export const Marker = z.object({
  file: z.string(),
  line: Count,
  /** First marker in the line. */
  marker: z.string(),
  text: z.string(),
  text_cut: Cut,
})
export type Marker = z.infer<typeof Marker>
export const MarkersAnswer = z.object({
  markers: z.array(Marker),
  /** Number of lines per marker, including lines that are not listed. */
  counts: z.record(z.string(), Count),
  /** Number of files with markers that are too large to be read. */
  skipped: Count,
  truncated: z.boolean(),
})
export type MarkersAnswer = z.infer<typeof MarkersAnswer>

export const Tag = z.object({
  name: z.string(),
  /** Tagged object, usually a commit. */
  sha: Sha,
  /** Null if the tagged object has no time, such as a tree. */
  tagged_at: Timestamp.nullable(),
  /** Subject of the tag, or of its commit if the tag has none. */
  subject: z.string(),
  subject_cut: Cut,
})
export type Tag = z.infer<typeof Tag>
export const TagsAnswer = z.object({ tags: z.array(Tag), truncated: z.boolean() })
export type TagsAnswer = z.infer<typeof TagsAnswer>

/** Relation to the issue according to the commit message. */
export const IssueRelation = z.enum(['closes', 'refs', 'mentions'])
export type IssueRelation = z.infer<typeof IssueRelation>
export const IssueReference = z.object({ issue: IssueRef, relation: IssueRelation })
export type IssueReference = z.infer<typeof IssueReference>
export const LinkedIssuesAnswer = z.object({
  /** Commits whose messages reference an issue. */
  commits: z.array(CommitName.extend({ issues: z.array(IssueReference) })),
  scanned: Count,
  truncated: z.boolean(),
})
export type LinkedIssuesAnswer = z.infer<typeof LinkedIssuesAnswer>

const LinkFields = {
  sha: Sha,
  issue: IssueRef,
  /** Null for a link made by hand. */
  relation: IssueRelation.nullable(),
  subject: z.string(),
  note: z.string().optional(),
  linked_by: z.string(),
  linked_at: Timestamp,
}
/** Link between a commit and an issue. */
export const CommitLink = z.object(LinkFields)
export type CommitLink = z.infer<typeof CommitLink>

export const COMMIT_LINK: RecordKind = {
  name: 'commit_link',
  summary: 'Link between a commit and an issue.',
  keeper: 'project',
  fields: z.strictObject(LinkFields),
  unique: ['sha', 'issue'],
}
