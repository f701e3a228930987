/**
 * The permissions of all callers in one place: the rule that the isolation matrix compares the product with. It is
 * written by hand and derived from nothing in `src`. An action, route, frame or method without an entry fails the
 * matrix until it is classified.
 *
 * - The operator may call everything that the hub offers.
 * - An agent reads and writes as its own persona. It never receives signals of another persona and cannot take its
 * resources.
 * - An observer reads data of the project and the hub. It changes nothing and sees no queue but its own.
 * - A daemon rings: it sees how many signals wait and for how long, and never receives their contents.
 * - A caller without a valid token reads the hub's health and its page, and nothing else.
 */

/** The effect of an action, which determines who may call it. */
export type Effect =
  | 'acts'
  | 'looks'
  | 'looks at itself'
  | 'overview'
  | 'delegates'
  | 'oversees'
  | 'watches'
  | 'administers'
export type Kind = 'agent' | 'daemon' | 'observer'

export const MAY_CALL: Readonly<Record<Effect, readonly Kind[]>> = {
  /** Makes a change as the caller's persona. */
  acts: ['agent'],
  /** Reads shared data without a change. */
  looks: ['agent', 'observer'],
  /** Reads data of the caller's own persona. */
  'looks at itself': ['agent'],
  /** Lists connected personas. */
  overview: ['agent', 'daemon', 'observer'],
  /** Runs other actions; each is checked separately. */
  delegates: ['agent', 'observer'],
  /** Reads data reserved to the operator. */
  oversees: [],
  /** Reads what agents do, with their prompts and outputs. */
  watches: ['observer'],
  /** Makes a change reserved to the operator. */
  administers: [],
}

type Actions = Partial<Record<Effect, string>>

export const ACTIONS: Readonly<Record<string, Actions>> = {
  signals: { acts: 'pending send broadcast ack release cancel replay', looks: 'inbox read' },
  context: {
    acts: 'pin unpin event_append',
    'looks at itself': 'primer',
    looks: 'assemble summarize what_changed list refresh event_search artifact_list artifact_read',
    administers: 'import',
  },
  blackboard: { acts: 'post archive', looks: 'read query recent status export' },
  decisions: { acts: 'decide reconsider override link_commit', looks: 'why trace list search' },
  workflow: { acts: 'preflight ship', looks: 'status investigate', delegates: 'batch' },
  store: { acts: 'put close', looks: 'query' },
  routine: { acts: 'run step eval', looks: 'list report steps' },
  git: {
    acts: 'auto_link link_commit',
    looks:
      'log_recent changed_files find_removal blame_context tags status find_linked_issues list_linked_commits',
  },
  tool: { looks: 'search describe', delegates: 'invoke' },
  coordinator: {
    acts: 'register heartbeat lock unlock log block unblock subscribe unsubscribe',
    looks: 'status history blocked subscriptions',
  },
  graph: { acts: 'add_entity add_relation', looks: 'neighbors path query' },
  sentinel: {
    acts: 'create_issue close_issue log_epic resolve_epic create_test_spec',
    looks: 'list_issues read_issue list_epics read_epic list_epic_issues list_test_specs scan',
  },
  architect: { acts: 'create_adr create_policy', looks: 'read_adr list_adrs read_policy list_policies' },
  dojo: { acts: 'add_wish create_proposal bench', looks: 'list_wishes list' },
  friction: { acts: 'log bump resolve', looks: 'list' },
  feedback: { acts: 'submit', looks: 'list' },
  learnings: { acts: 'append', looks: 'list' },
  activity: {
    watches:
      'hierarchy projects project sessions session requests tasks subtasks actions active hourly tools_summary kpis stats cleanup_stats completeness',
    administers:
      'log_action put_request put_task put_subtask end_session delete_session delete_project delete_actions',
  },
  vector: {
    acts: 'create_run complete_run log_event checkpoint assumptions',
    looks: 'read_run list_runs context_pack score_prompt trace',
  },
  personas: { overview: 'list get', administers: 'add wrap remove' },
  projects: { oversees: 'list', administers: 'remove' },
  registry: { acts: 'add alias', looks: 'list resolve', administers: 'remove' },
  plugins: { looks: 'list' },
}

/** Effects that change nothing; a read-only call may use them. */
export const READS: readonly Effect[] = [
  ...(['looks', 'looks at itself', 'overview', 'delegates', 'oversees', 'watches'] as const),
]

/** `open` needs no token. Otherwise the kinds that may call it; the operator always may. */
export const ROUTES: Readonly<Record<string, 'open' | readonly Kind[]>> = {
  'GET /': 'open',
  'GET /health': 'open',
  'GET /ready': 'open',
  'GET /metrics': ['agent', 'daemon', 'observer'],
  'POST /call': ['agent', 'daemon', 'observer'],
  'POST /batch': ['agent', 'daemon', 'observer'],
  'GET /facades': ['agent', 'daemon', 'observer'],
  'GET /tools': ['agent', 'daemon', 'observer'],
  'GET /openapi.json': ['agent', 'daemon', 'observer'],
  'GET /asyncapi.json': ['agent', 'daemon', 'observer'],
  'GET /events': ['agent', 'daemon', 'observer'],
  'POST /hook/:client': ['agent'],
  'POST /activity': ['agent'],
  'GET /team': ['agent'],
  'POST /auth/token': ['agent', 'daemon', 'observer'],
  'POST /session/end': ['agent'],
  'POST /mcp': ['agent', 'daemon', 'observer'],
  'GET /mcp': ['agent', 'daemon', 'observer'],
  'DELETE /mcp': ['agent', 'daemon', 'observer'],
  // The upgrade is open; the hello frame is checked.
  'GET /ws': 'open',
}

/** About the session of the calling agent. */
export const NOT_FOR_THE_OPERATOR: readonly string[] = ['GET /team', 'POST /session/end']

/** Frames of clients. `ignored`: accepted without a response and without an effect. */
export const FRAMES: Readonly<Record<string, Readonly<Record<Kind, 'done' | 'refused' | 'ignored'>>>> = {
  // A second hello on the same link is rejected.
  hello: { agent: 'refused', daemon: 'refused', observer: 'refused' },
  heartbeat: { agent: 'done', daemon: 'done', observer: 'ignored' },
  doorbell: { agent: 'refused', daemon: 'done', observer: 'refused' },
  'pending.peek': { agent: 'done', daemon: 'done', observer: 'done' },
  subscribe: { agent: 'done', daemon: 'done', observer: 'done' },
  unsubscribe: { agent: 'done', daemon: 'done', observer: 'done' },
  publish: { agent: 'done', daemon: 'refused', observer: 'refused' },
  ack: { agent: 'ignored', daemon: 'ignored', observer: 'ignored' },
  call: { agent: 'done', daemon: 'done', observer: 'done' },
  ping: { agent: 'done', daemon: 'done', observer: 'done' },
}

/** MCP methods that a client may call. `own`: about resources, where each caller sees its own queue. */
export const METHODS: Readonly<Record<string, 'any' | 'own'>> = {
  initialize: 'any',
  ping: 'any',
  'server/discover': 'any',
  'tools/list': 'any',
  'tools/call': 'any',
  'resources/list': 'any',
  'resources/templates/list': 'any',
  'resources/read': 'own',
  'resources/subscribe': 'own',
  'resources/unsubscribe': 'any',
}
