/** The schema of the activity database, as an ordered list of changes. A change that was released is never edited. */
import type Database from 'libsql'
import { TurnbellError } from '../../../contracts/errors/errors.ts'

const FIRST = `
CREATE TABLE projects (
  number INTEGER PRIMARY KEY, project_id TEXT NOT NULL UNIQUE, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  actions INTEGER NOT NULL DEFAULT 0, errors INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX projects_by_time ON projects (updated_at);

CREATE TABLE sessions (
  number INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE, identity TEXT NOT NULL, client TEXT NOT NULL,
  project_id TEXT, continues TEXT, model TEXT,
  started_at TEXT NOT NULL, ended_at TEXT, last_at TEXT NOT NULL, context_tokens INTEGER, context_window INTEGER,
  total_tools_used INTEGER NOT NULL DEFAULT 0, total_success INTEGER NOT NULL DEFAULT 0,
  total_errors INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens INTEGER NOT NULL DEFAULT 0, cache_write_tokens INTEGER NOT NULL DEFAULT 0, cost_usd REAL,
  track TEXT NOT NULL
);
CREATE INDEX sessions_by_time ON sessions (started_at);
CREATE INDEX sessions_by_project ON sessions (project_id, started_at);
CREATE INDEX sessions_by_identity ON sessions (identity, started_at);
CREATE INDEX sessions_by_client ON sessions (client, started_at);
CREATE INDEX sessions_by_end ON sessions (last_at);
CREATE INDEX sessions_open ON sessions (started_at) WHERE ended_at IS NULL;

CREATE TABLE requests (
  number INTEGER PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, project_id TEXT,
  turn_seq INTEGER NOT NULL, prompt_type TEXT, status TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT,
  prompt TEXT, error TEXT
);
CREATE INDEX requests_by_status ON requests (status, started_at);
CREATE INDEX requests_by_project ON requests (project_id, status, started_at);
CREATE INDEX requests_by_session ON requests (session_id, started_at);

CREATE TABLE task_lists (
  number INTEGER PRIMARY KEY, task_id TEXT NOT NULL UNIQUE, request_id TEXT NOT NULL, session_id TEXT NOT NULL,
  wave_number INTEGER NOT NULL, status TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT
);
CREATE INDEX task_lists_by_status ON task_lists (status, started_at);
CREATE INDEX task_lists_by_request ON task_lists (request_id, started_at);
CREATE INDEX task_lists_by_session ON task_lists (session_id, started_at);

CREATE TABLE subtasks (
  number INTEGER PRIMARY KEY, subtask_id TEXT NOT NULL UNIQUE, task_id TEXT NOT NULL, session_id TEXT NOT NULL,
  agent_id TEXT NOT NULL, agent_type TEXT, parent_agent_id TEXT, status TEXT NOT NULL, started_at TEXT NOT NULL,
  ended_at TEXT, description TEXT, result TEXT
);
CREATE INDEX subtasks_by_status ON subtasks (status, started_at);
CREATE INDEX subtasks_by_type ON subtasks (agent_type, status, started_at);
CREATE INDEX subtasks_by_task ON subtasks (task_id, started_at);
CREATE INDEX subtasks_by_session ON subtasks (session_id, started_at);

CREATE TABLE actions (
  number INTEGER PRIMARY KEY, action_id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, project_id TEXT,
  request_id TEXT, subtask_id TEXT, tool_name TEXT NOT NULL, tool_type TEXT NOT NULL, status TEXT NOT NULL,
  started_at TEXT NOT NULL, ended_at TEXT, duration_ms INTEGER, exit_code INTEGER,
  file_paths TEXT, input TEXT, output TEXT, error TEXT
);
CREATE INDEX actions_by_status ON actions (tool_type, status, started_at);
CREATE INDEX actions_by_tool ON actions (tool_name, tool_type, status, started_at);
CREATE INDEX actions_by_project ON actions (project_id, tool_type, status, started_at);
CREATE INDEX actions_by_project_tool ON actions (project_id, tool_name, tool_type, status, started_at);
CREATE INDEX actions_by_session ON actions (session_id, started_at);
CREATE INDEX actions_by_request ON actions (request_id, started_at) WHERE request_id IS NOT NULL;
CREATE INDEX actions_by_subtask ON actions (subtask_id, started_at) WHERE subtask_id IS NOT NULL;

CREATE TABLE usage (
  session_id TEXT NOT NULL, usage_id TEXT NOT NULL, at TEXT NOT NULL,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL, cost_usd REAL,
  PRIMARY KEY (session_id, usage_id)
) WITHOUT ROWID;
CREATE INDEX usage_by_time
  ON usage (at, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd);

CREATE TABLE action_hours (
  project_id TEXT NOT NULL, hour TEXT NOT NULL, tool_name TEXT NOT NULL, tool_type TEXT NOT NULL,
  actions INTEGER NOT NULL, errors INTEGER NOT NULL, duration_ms INTEGER NOT NULL, durations INTEGER NOT NULL,
  PRIMARY KEY (project_id, hour, tool_name, tool_type)
) WITHOUT ROWID;

CREATE VIEW v_project_stats AS
  SELECT p.*,
    (SELECT count(*) FROM sessions s WHERE s.project_id = p.project_id) AS sessions,
    (SELECT count(*) FROM requests r WHERE r.project_id = p.project_id) AS requests
  FROM projects p;

CREATE VIEW v_active_agents AS
  SELECT b.subtask_id, b.agent_id, b.agent_type, b.parent_agent_id, b.description, b.started_at,
    s.session_id, s.identity, s.client, s.project_id
  FROM subtasks b JOIN sessions s ON s.session_id = b.session_id
  WHERE b.status = 'running' AND s.ended_at IS NULL;

CREATE VIEW v_actions_full AS
  SELECT a.*, b.agent_id, b.agent_type, b.task_id, r.turn_seq, r.prompt, s.identity, s.client, s.model,
    p.path AS project_path, p.name AS project_name
  FROM actions a
  LEFT JOIN subtasks b ON b.subtask_id = a.subtask_id
  LEFT JOIN requests r ON r.request_id = a.request_id
  LEFT JOIN sessions s ON s.session_id = a.session_id
  LEFT JOIN projects p ON p.project_id = a.project_id;
`

/** The version of a schema is the number of its changes. */
const MIGRATIONS: readonly string[] = [FIRST]

/** Applies the changes that the database does not have. Throws `config_invalid` for the database of a newer turnbell. */
export function migrate(database: Database.Database, file: string): void {
  const found = storedVersion(database)
  if (found > MIGRATIONS.length)
    throw new TurnbellError('config_invalid', {
      detail: `${file} has schema version ${found}; this turnbell supports versions up to ${MIGRATIONS.length}`,
      hint: 'Start the newer turnbell, or move the file away.',
    })
  for (const [index, change] of MIGRATIONS.entries()) {
    const version = index + 1
    if (version > found) apply(database, version, change)
  }
}

/** Returns 0 for an empty database. */
function storedVersion(database: Database.Database): number {
  const tables = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").all()
  if (tables.length === 0) return 0
  const [row] = database.prepare('SELECT max(version) AS version FROM schema_version').all() as {
    version: number | null
  }[]
  return row?.version ?? 0
}

function apply(database: Database.Database, version: number, change: string): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    if (version === 1)
      database.exec('CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)')
    database.exec(change)
    database.prepare('INSERT INTO schema_version VALUES (?, ?)').run(version, new Date().toISOString())
    database.exec('COMMIT')
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK')
    throw error
  }
}
