/**
 * What the facade `git` takes and tells. Paths stand relative to the top of the work tree, with slashes;
 * bytes that are no UTF-8 are shown as U+FFFD, and such a path cannot be asked for.
 */
import * as z from 'zod'
import { Timestamp } from './ids.ts'
import { LIMITS } from './limits.ts'
import type { RecordKind } from './records.ts'

/** What no name, no revision and no search word has in it, and what would end an argument. */
const CONTROL = /[\u0000-\u001f\u007f]/

const plain = (length_max: number) =>
  z
    .string()
    .min(1)
    .max(length_max)
    .refine((text) => !CONTROL.test(text), 'control characters are not allowed')

/** Relative to the top of the work tree, or absolute and inside it. */
export const RepositoryPath = z
  .string()
  .min(1)
  .max(LIMITS.git_path_length_max)
  .refine((path) => !path.includes('\0'), 'a path has no NUL')

/**
 * A commit, branch, tag or an expression such as `HEAD~2`. Narrower than git's own, so that none can be
 * taken for an option, a range, or a path in a tree.
 */
export const Revision = plain(LIMITS.git_revision_length_max)
  .refine((revision) => !/^[-^]/.test(revision), 'a revision does not begin with - or ^')
  .refine(
    (revision) => !/[\s:?*[\\]|\.\./.test(revision),
    'one commit is meant: no spaces, ranges or : ? * [ \\',
  )

/** `A..B`: what B has and A has not. A side that is left out is HEAD. */
export const RevisionRange = plain(2 * LIMITS.git_revision_length_max + 2)
  .regex(/^[^\s]*\.\.[^\s]*$/, 'a range is A..B')
  .refine((range) => !range.includes('...'), 'a range has two dots')

/** A date, a UTC time, or how long ago: what git itself would guess from is refused. */
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

/** The word for an issue, as it stands in commit messages: `#12`, `ISSUE-7`, a ULID. */
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
  /** Against the first parent. */
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
  /** Lines; absent for what is binary or untracked. */
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
  /** Null where a commit is checked out instead. */
  branch: z.string().nullable(),
  upstream: z.string().nullable(),
  /** Null without an upstream, or where it is gone. */
  ahead: Count.nullable(),
  behind: Count.nullable(),
  clean: z.boolean(),
  counts: z.object({ staged: Count, unstaged: Count, untracked: Count, conflicted: Count }),
  staged: z.array(ChangedFile),
  unstaged: z.array(ChangedFile),
  /** A directory with nothing tracked in it stands for its files, with a slash at its end. */
  untracked: z.array(z.string()),
  conflicted: z.array(z.string()),
  /** The lists, not the counts, are. */
  truncated: z.boolean(),
})
export type StatusAnswer = z.infer<typeof StatusAnswer>

export const BlamedLine = z.object({
  line: Count,
  text: z.string(),
  text_cut: Cut,
  /** All four are null for a line that is not committed. */
  sha: Sha.nullable(),
  author_name: z.string().nullable(),
  committed_at: Timestamp.nullable(),
  subject: z.string().nullable(),
})
export type BlamedLine = z.infer<typeof BlamedLine>
export const BlameAnswer = z.object({ path: z.string(), lines: z.array(BlamedLine), truncated: z.boolean() })
export type BlameAnswer = z.infer<typeof BlameAnswer>

export const RemovedLine = z.object({
  /** In the file before the commit. */
  line: Count,
  text: z.string(),
  text_cut: Cut,
})
export type RemovedLine = z.infer<typeof RemovedLine>
export const Removal = CommitSummary.omit({ files_changed: true }).extend({
  files: z.array(
    z.object({
      path: z.string(),
      /** How many times less the text stands in it. */
      removed: Count,
      lines: z.array(RemovedLine),
    }),
  ),
})
export type Removal = z.infer<typeof Removal>
export const RemovalAnswer = z.object({
  removals: z.array(Removal),
  /** There may be older ones that were not looked for, or more files of those that are shown. */
  truncated: z.boolean(),
})
export type RemovalAnswer = z.infer<typeof RemovalAnswer>

/** A word that marks work left to do. */
export const MarkerWord = z
  .string()
  .max(32)
  .regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'a marker is one word, such as TODO')
export const MARKERS = ['TODO', 'FIXME', 'HACK', 'XXX']

export const Marker = z.object({
  file: z.string(),
  line: Count,
  /** The first one of the line. */
  marker: z.string(),
  text: z.string(),
  text_cut: Cut,
})
export type Marker = z.infer<typeof Marker>
export const MarkersAnswer = z.object({
  markers: z.array(Marker),
  /** How many lines each marker was found in, also where not all are listed. */
  counts: z.record(z.string(), Count),
  /** Files with markers that are too large to be looked at, or are behind a link. */
  skipped: Count,
  truncated: z.boolean(),
})
export type MarkersAnswer = z.infer<typeof MarkersAnswer>

export const Tag = z.object({
  name: z.string(),
  /** What it stands for, usually a commit. */
  sha: Sha,
  /** Null for what has no time, such as a tagged tree. */
  tagged_at: Timestamp.nullable(),
  /** Of the tag itself, or of its commit where it has none. */
  subject: z.string(),
  subject_cut: Cut,
})
export type Tag = z.infer<typeof Tag>
export const TagsAnswer = z.object({ tags: z.array(Tag), truncated: z.boolean() })
export type TagsAnswer = z.infer<typeof TagsAnswer>

/** What the message says of the issue. */
export const IssueRelation = z.enum(['closes', 'refs', 'mentions'])
export type IssueRelation = z.infer<typeof IssueRelation>
export const IssueReference = z.object({ issue: IssueRef, relation: IssueRelation })
export type IssueReference = z.infer<typeof IssueReference>
export const LinkedIssuesAnswer = z.object({
  /** Those whose messages name an issue. */
  commits: z.array(CommitName.extend({ issues: z.array(IssueReference) })),
  scanned: Count,
  truncated: z.boolean(),
})
export type LinkedIssuesAnswer = z.infer<typeof LinkedIssuesAnswer>

const LinkFields = {
  sha: Sha,
  issue: IssueRef,
  /** Null where somebody linked them by hand. */
  relation: IssueRelation.nullable(),
  subject: z.string(),
  note: z.string().optional(),
  linked_by: z.string(),
  linked_at: Timestamp,
}
/** That a commit belongs to an issue. */
export const CommitLink = z.object(LinkFields)
export type CommitLink = z.infer<typeof CommitLink>

export const COMMIT_LINK: RecordKind = {
  name: 'commit_link',
  summary: 'That a commit belongs to an issue; one for each pair of them.',
  keeper: 'project',
  fields: z.strictObject(LinkFields),
  unique: ['sha', 'issue'],
}
