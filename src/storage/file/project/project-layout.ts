/**
 * The layout of `<root>/.turnbell`: where the records of each kind are, and the files of a new folder. Kinds that people
 * read by hand have locations of their own; all others are in `records`.
 */
import path from 'node:path'
import { recordName } from '../records/record-file.ts'

/**
 * `log`: JSON lines, append-only. `table`: one JSON array. `indexed`: one file per record and an index file.
 * `folder`: one file per record.
 */
export type KindFormat = 'log' | 'table' | 'indexed' | 'folder'

export interface KindLocation {
  format: KindFormat
  /** Path of the file or folder in `.turnbell`. */
  at: string
  /** Quarantine path: a file for invalid lines, or a folder for invalid files. */
  rejected: string
}

const OWN: Readonly<Record<string, KindLocation>> = {
  entry: { format: 'log', at: 'blackboard.jsonl', rejected: 'rejected/blackboard.jsonl' },
  decision: { format: 'indexed', at: 'decisions', rejected: 'rejected/decisions' },
  entity: { format: 'table', at: 'graph/entities.json', rejected: 'rejected/graph/entities.jsonl' },
  relation: { format: 'table', at: 'graph/relations.json', rejected: 'rejected/graph/relations.jsonl' },
}

/** Kind of the archived blackboard entries of one day. */
const ARCHIVE = /^archive\/(\d{4}-\d\d-\d\d)$/

export const ARCHIVE_FOLDER = 'archive'
/** Returns the day of an archive file; null for another file. */
export function archivedDay(name: string): string | null {
  return /^(\d{4}-\d\d-\d\d)-blackboard\.jsonl$/.exec(name)?.[1] ?? null
}

export function locationOf(kind: string): KindLocation {
  const own = OWN[kind]
  if (own !== undefined) return own
  const day = ARCHIVE.exec(kind)?.[1]
  if (day !== undefined) {
    const at = `archive/${day}-blackboard.jsonl`
    return { format: 'log', at, rejected: `rejected/${at}` }
  }
  const name = recordName(kind)
  return { format: 'folder', at: path.join(RECORDS_FOLDER, name), rejected: path.join('rejected', name) }
}

export const RECORDS_FOLDER = 'records'

/** Kinds whose files always exist. */
export const OWN_KINDS: readonly string[] = Object.keys(OWN)

/** Ignored by git: files that can be recreated, and locks and drafts of running processes. */
const IGNORED = `embeddings/*.index
archive/
.lock/
*.lock/
*.new
`

/** Merged by git as a union: additions of both sides are kept without a conflict. */
const MERGED = `blackboard.jsonl merge=union
graph/*.json merge=union
decisions/index.json merge=union
`

/** The defaults; see `contracts/project-config.ts`. */
const CONFIG = `# Settings of this project's shared memory. A missing key has the default shown here.
version: 1
# Empty: the name of this directory.
project_name: ""
embedding_model: all-MiniLM-L6-v2
archive:
  # Each commit archives entries older than the previous commit, except open entries and decisions.
  auto_archive_on_commit: true
  auto_archive_on_context_switch: true
  # Number of entries at which the older half is archived.
  max_blackboard_entries_before_archive: 500
context_assembly:
  default_max_tokens: 4000
  # Relative weight of each feature when context for a task is selected.
  priority_weights:
    recency: 0.3
    relevance: 0.4
    decision_confidence: 0.2
    warning_boost: 0.1
    scope_proximity: 0.2
    graph_connectivity: 0.1
  # Half-life of recency, in days.
  recency_half_life_days: 7
# Contradicting decisions are reported and resolved by people.
conflict_resolution: human
`

/** Files created with the folder. Existing files are not changed. */
export const FIRST_FILES: Readonly<Record<string, string>> = {
  '.gitignore': IGNORED,
  '.gitattributes': MERGED,
  'config.yml': CONFIG,
  'blackboard.jsonl': '',
  'decisions/index.json': '[]\n',
  'graph/entities.json': '[]\n',
  'graph/relations.json': '[]\n',
}
