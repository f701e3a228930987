/**
 * Where in `<root>/.turnbell` the records of a kind are, and what a new one holds. Kinds that people look for by
 * hand have places of their own; all others are in `records`.
 */
import path from 'node:path'
import { recordName } from './record-file.ts'

/**
 * `log`: a JSON object a line, only ever added to. `table`: one JSON array. `indexed`: a file for each, and one
 * that is made from them. `folder`: a file for each.
 */
export type PlaceForm = 'log' | 'table' | 'indexed' | 'folder'

export interface KindPlace {
  form: PlaceForm
  /** Inside of `.turnbell`: the file, or the folder. */
  at: string
  /** What stood there and is no record: a file that takes the lines, or a folder that takes the files. */
  rejected: string
}

const OWN: Readonly<Record<string, KindPlace>> = {
  entry: { form: 'log', at: 'blackboard.jsonl', rejected: 'rejected/blackboard.jsonl' },
  decision: { form: 'indexed', at: 'decisions', rejected: 'rejected/decisions' },
  entity: { form: 'table', at: 'graph/entities.json', rejected: 'rejected/graph/entities.jsonl' },
  relation: { form: 'table', at: 'graph/relations.json', rejected: 'rejected/graph/relations.jsonl' },
}

/** What is beyond its time on the blackboard goes to the archive of a day. */
const ARCHIVE = /^archive\/(\d{4}-\d\d-\d\d)$/

export const ARCHIVE_FOLDER = 'archive'
/** The day that a file in there is of. */
export function archivedDay(name: string): string | null {
  return /^(\d{4}-\d\d-\d\d)-blackboard\.jsonl$/.exec(name)?.[1] ?? null
}

export function placeOf(kind: string): KindPlace {
  const own = OWN[kind]
  if (own !== undefined) return own
  const day = ARCHIVE.exec(kind)?.[1]
  if (day !== undefined) {
    const at = `archive/${day}-blackboard.jsonl`
    return { form: 'log', at, rejected: `rejected/${at}` }
  }
  const name = recordName(kind)
  return { form: 'folder', at: path.join(RECORDS_FOLDER, name), rejected: path.join('rejected', name) }
}

export const RECORDS_FOLDER = 'records'

/** The kinds that people see first, whether there is anything of them or not. */
export const OWN_KINDS: readonly string[] = Object.keys(OWN)

/** What can be made again, and what only a process that runs has any use for. */
const IGNORED = `embeddings/*.index
archive/
.lock/
*.lock/
*.new
`

/** Two sides that both added something are both kept, and nobody is asked. */
const MERGED = `blackboard.jsonl merge=union
graph/*.json merge=union
decisions/index.json merge=union
`

/** What counts where it says nothing; see `contracts/project-config.ts`. */
const CONFIG = `# What this project wants of its shared memory. A key that is left out is as it stands here.
version: 1
# The name of this directory where it is empty.
project_name: ""
embedding_model: all-MiniLM-L6-v2
archive:
  # What is older than the commit before goes to the archive with each commit; what is open, and decisions, stay.
  auto_archive_on_commit: true
  auto_archive_on_context_switch: true
  # With so many entries the older half goes.
  max_blackboard_entries_before_archive: 500
context_assembly:
  default_max_tokens: 4000
  # How much each feature counts for what an agent is told of a task; only how they relate matters.
  priority_weights:
    recency: 0.3
    relevance: 0.4
    decision_confidence: 0.2
    warning_boost: 0.1
    scope_proximity: 0.2
    graph_connectivity: 0.1
  # After so many days something counts half as new.
  recency_half_life_days: 7
# Decisions that contradict each other are told, and settled by people.
conflict_resolution: human
`

/** What is there from the first write on; whatever of it is there already is left as it is. */
export const FIRST_FILES: Readonly<Record<string, string>> = {
  '.gitignore': IGNORED,
  '.gitattributes': MERGED,
  'config.yml': CONFIG,
  'blackboard.jsonl': '',
  'decisions/index.json': '[]\n',
  'graph/entities.json': '[]\n',
  'graph/relations.json': '[]\n',
}
